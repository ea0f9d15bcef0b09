import { Component, type ReactNode } from "react";
import { ProblemNotice } from "./ProblemNotice";

interface Props {
  children: ReactNode;
  /** Where this changes, what failed is tried again. */
  at: string;
}

interface State {
  error: unknown;
}

/** A part of a page that fails takes nothing else away. */
export class Boundary extends Component<Props, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: unknown): State {
    return { error };
  }

  override componentDidUpdate(before: Props): void {
    if (before.at !== this.props.at && this.state.error !== null) this.setState({ error: null });
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    return <ProblemNotice error={this.state.error} again={() => this.setState({ error: null })} />;
  }
}
