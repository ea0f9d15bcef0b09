import { Link } from "wouter";
import { Empty } from "../parts/Empty";
import { Page } from "../parts/Page";

export const NotThere = () => (
  <Page title="No such page">
    <div className="panel">
      <Empty title="There is no page at this address">
        <p>
          Begin at <Link href="/">all links</Link>.
        </p>
      </Empty>
    </div>
  </Page>
);
