interface Props {
  label: string;
  active: boolean;
  descending: boolean;
  choose: () => void;
}

/** A column's head that sorts by it. */
export const Sort = ({ label, active, descending, choose }: Props) => (
  <button type="button" className="sort" onClick={choose}>
    {label}
    <i aria-hidden="true">{active ? (descending ? "↓" : "↑") : ""}</i>
  </button>
);
