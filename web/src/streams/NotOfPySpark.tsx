import { Empty } from "../parts/Empty";

/** What only a script of SQL has, and why a file of PySpark has not. */
export const NotOfPySpark = ({ what, why }: { what: string; why: string }) => (
  <div className="panel">
    <Empty title={`A PySpark file has no ${what}`}>
      <p className="dim">{why} Its runs, logs and metrics are on their own tabs.</p>
    </Empty>
  </div>
);
