import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { cancelSwitch } from "../../api/verbs";
import { command } from "../../format/command";
import { Button } from "../../parts/Button";
import { CommandLine } from "../../parts/CopyButton";
import { Dialog } from "../../parts/Dialog";
import { Field } from "../../parts/Field";
import { ProblemNotice, sentence } from "../../parts/ProblemNotice";
import { hasPublished, isOpen, type SwitchSummary } from "../../routes/switches";
import { mayAs, useMe, type Me } from "../../session/me";

const LONGEST = 1_000;

/** A button that gives a switch up, once it was said what that does; whoever reads that sees how the switch goes on. */
export function GiveUp({ one }: { one: SwitchSummary }) {
  const [open, setOpen] = useState(false);
  const why = whyNot(useMe(), one);
  return (
    <>
      {isOpen(one) ? (
        <Button kind="danger" why={why} act={() => setOpen(true)}>
          Give it up
        </Button>
      ) : null}
      {open ? <Confirm id={one.id} why={why} close={() => setOpen(false)} /> : null}
    </>
  );
}

function whyNot(me: Me, one: SwitchSummary): string | null {
  if (!mayAs(me, "approver")) return `the account ${me.account} has the role ${me.role}; giving a switch up needs the role approver`;
  if (hasPublished(one)) return `version ${one.version} is published: it is too late to give the switch up`;
  return one.why === "" ? null : "it was given up already";
}

interface Props {
  id: string;
  /** Why it cannot be given up any more. */
  why: string | null;
  close: () => void;
}

function Confirm({ id, why, close }: Props) {
  const queries = useQueryClient();
  const [reason, setReason] = useState("");
  const cancel = useMutation({
    mutationFn: () => cancelSwitch(id, reason.trim()),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["switches"] });
      close();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (why === null && !cancel.isPending && reason.trim() !== "") cancel.mutate();
  };
  return (
    <Dialog
      title="Give the switch up"
      close={close}
      foot={
        <>
          {why === null ? null : <span className="note">{sentence(why)}.</span>}
          <Button act={close}>{why === null ? "Let it go on" : "Close"}</Button>
          <button type="submit" form="give-up" className="button danger" aria-disabled={why !== null || cancel.isPending}>
            Give it up
          </button>
        </>
      }
    >
      <p>
        Every client goes on where it was, at the record where it was. The new table is not published, and groups that were moved already are
        taken back.
      </p>
      <p className="dim">Nothing is lost by it: the same change can be planned and applied again. Once the table is published it is too late.</p>
      {cancel.isError ? <ProblemNotice error={cancel.error} title="Not given up" /> : null}
      <form id="give-up" onSubmit={submit}>
        <Field label="Reason" hint="For those who look at the switches, and for its clients.">
          {(attributes) => (
            <input
              {...attributes}
              className="input"
              required
              maxLength={LONGEST}
              autoComplete="off"
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
          )}
        </Field>
      </form>
      <CommandLine
        text={command(
          ["route", "cancel", id],
          [
            ["--reason", reason.trim() || "WHY"],
            ["--execute", true],
          ],
        )}
      />
    </Dialog>
  );
}
