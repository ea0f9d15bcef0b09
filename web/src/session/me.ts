import { useQuery } from "@tanstack/react-query";
import { createContext, useContext } from "react";
import type { Schemas } from "../api/client";
import { verbsQuery } from "../api/queries";

export type Me = Schemas["Me"];
export const ROLES = ["client", "viewer", "operator", "approver", "admin"] as const;
export type RoleWord = (typeof ROLES)[number];

const Context = createContext<Me | null>(null);
export const MeProvider = Context.Provider;

export function useMe(): Me {
  const me = useContext(Context);
  if (me === null) throw new Error("nobody is signed in here");
  return me;
}

export const mayAs = (me: Me, role: string): boolean =>
  ROLES.indexOf(me.role as RoleWord) >= ROLES.indexOf(role as RoleWord);

/** Why this account may not plan; null where it may. */
export function useWhyNotPlan(): string | null {
  const me = useMe();
  return mayAs(me, "operator") ? null : `${me.account} has the role ${me.role}; plans need the role operator`;
}

/** Why this account may not apply plans of a verb here; null where it may. */
export function whyNotApply(me: Me, role: string): string | null {
  if (!mayAs(me, role)) return `the account ${me.account} has the role ${me.role}; applying this plan needs the role ${role}`;
  if (!me.acts) {
    return me.holder ? `this instance only shows; ${me.holder} acts` : "no instance acts just now";
  }
  return null;
}

export function useVerb(name: string): Schemas["VerbAnswer"] | undefined {
  return useQuery(verbsQuery).data?.find((verb) => verb.name === name);
}
