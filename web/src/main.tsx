import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { ProblemError } from "./api/problem";
import { App } from "./App";
import { setSignedOut } from "./session/signed";
import "./style/tokens.css";
import "./style/base.css";
import "./style/layout.css";
import "./style/parts.css";
import "./style/lanes.css";
import "./style/sql.css";

const onError = (error: unknown): void => {
  if (error instanceof ProblemError && error.problem.status === 401) setSignedOut(error.problem.detail);
};

const queries = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      // What may help a second time is asked again; a refusal is shown at once.
      retry: (times, error) => times < 1 && error instanceof ProblemError && error.problem.status === 0,
      retryDelay: 1_000,
      refetchOnWindowFocus: false,
      networkMode: "always",
      staleTime: 1_000,
    },
    mutations: { networkMode: "always" },
  },
});

const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <QueryClientProvider client={queries}>
      <App />
    </QueryClientProvider>,
  );
}
