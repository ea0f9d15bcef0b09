import { whole } from "../format/numbers";
import { Button } from "./Button";

interface Props {
  /** How many there are, and how many a page has. */
  count: number;
  size: number;
  offset: number;
  what: string;
  go: (offset: number) => void;
}

/** Which rows of how many are shown, and the pages beside this one. */
export const Pager = ({ count, size, offset, what, go }: Props) => (
  <nav className="row" aria-label={`${what}, page by page`}>
    <span role="status">
      {whole(Math.min(offset + 1, count))} to {whole(Math.min(offset + size, count))} of {whole(count)} {what}
    </span>
    <span className="row end">
      <Button little why={offset === 0 ? "this is the first page" : null} act={() => go(Math.max(0, offset - size))}>
        Page before
      </Button>
      <Button little why={offset + size >= count ? "this is the last page" : null} act={() => go(offset + size)}>
        Next page
      </Button>
    </span>
  </nav>
);
