/** Where somebody was who goes to the provider, which sends them back to the first page. */
const KEY = "anabranch.back";

export function remember(): void {
  const { pathname, search } = window.location;
  try {
    sessionStorage.setItem(KEY, pathname + search);
  } catch {
    // A browser that keeps nothing comes back to the first page.
  }
}

export function takeBack(): string | null {
  try {
    const found = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    return found !== null && found.startsWith("/") && !found.startsWith("//") ? found : null;
  } catch {
    return null;
  }
}
