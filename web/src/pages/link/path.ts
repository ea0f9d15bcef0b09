/** Where the API has what is a link's. */
export const linkApi = (target: string, link: string, what: string): string =>
  `/api/v1/clusters/${encodeURIComponent(target)}/links/${encodeURIComponent(link)}/${what}`;

/** Addresses of a link's pages. */
export const linkPath = (target: string, link: string, tab = ""): string =>
  `/links/${encodeURIComponent(target)}/${encodeURIComponent(link)}${tab ? `/${tab}` : ""}`;

export const lanePath = (target: string, link: string, where: string): string =>
  `${linkPath(target, link)}/lanes/${encodeURIComponent(where)}`;
