import { mayAs, useMe } from "../../session/me";
import { Page } from "../../parts/Page";
import { AccountsPanel } from "./AccountsPanel";
import { TokensPanel } from "./TokensPanel";

export function Accounts() {
  const me = useMe();
  const admin = mayAs(me, "admin");
  return (
    <Page title="Accounts and tokens">
      {admin ? (
        <AccountsPanel />
      ) : (
        <p className="dim">
          You are {me.account} with the role {me.role}. Accounts, and the tokens of others, are shown to the role admin.
        </p>
      )}
      <TokensPanel admin={admin} />
    </Page>
  );
}
