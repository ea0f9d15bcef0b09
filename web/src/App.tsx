import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { ProblemError } from "./api/problem";
import { meQuery } from "./api/queries";
import { Accounts } from "./pages/access/Accounts";
import { Applications } from "./pages/applications/Applications";
import { ClientPage } from "./pages/applications/ClientPage";
import { ArtifactPage } from "./pages/artifacts/ArtifactPage";
import { Artifacts } from "./pages/artifacts/Artifacts";
import { Audit } from "./pages/Audit";
import { Catalog } from "./pages/catalog/Catalog";
import { EntryPage } from "./pages/catalog/EntryPage";
import { Checkpoints } from "./pages/checkpoints/Checkpoints";
import { Clusters } from "./pages/Clusters";
import { CreateLink } from "./pages/CreateLink";
import { LanePage } from "./pages/lane/LanePage";
import { LinkPage } from "./pages/link/LinkPage";
import { Links } from "./pages/Links";
import { ChangePage } from "./pages/migrations/ChangePage";
import { MigrationPage } from "./pages/migrations/MigrationPage";
import { Migrations } from "./pages/migrations/Migrations";
import { StartPage } from "./pages/migrations/StartPage";
import { MirrorMaker } from "./pages/mirrormaker/MirrorMaker";
import { NotThere } from "./pages/NotThere";
import { OperationPage } from "./pages/OperationPage";
import { Operations } from "./pages/Operations";
import { PlanPage } from "./pages/PlanPage";
import { Routes } from "./pages/routes/Routes";
import { SwitchPage } from "./pages/routes/SwitchPage";
import { VersionPage } from "./pages/routes/VersionPage";
import { CreateStream } from "./pages/streams/CreateStream";
import { EditStream } from "./pages/streams/EditStream";
import { StreamPage } from "./pages/streams/StreamPage";
import { Streams } from "./pages/streams/Streams";
import { SignIn } from "./pages/SignIn";
import { Boundary } from "./parts/Boundary";
import { DialogHost } from "./parts/DialogHost";
import { ProblemNotice } from "./parts/ProblemNotice";
import { Waiting } from "./parts/Waiting";
import { takeBack } from "./session/back";
import { MeProvider } from "./session/me";
import { useSignedOut } from "./session/signed";
import { Shell } from "./Shell";

/** Whoever is signed in sees the page of the address; who is not signs in, and sees it then. */
export function App() {
  const me = useQuery(meQuery);
  const signedOut = useSignedOut();
  const [path] = useLocation();
  const refused = me.error instanceof ProblemError && me.error.problem.status === 401 ? me.error.problem.detail : null;
  const why = signedOut ?? refused;
  if (why !== null) return <SignIn why={why} wasIn={me.data !== undefined} />;
  if (me.data === undefined) {
    return (
      <main className="sign-in" id="main">
        {me.isError ? (
          <ProblemNotice error={me.error} again={() => void me.refetch()} />
        ) : (
          <Waiting what="who is signed in" />
        )}
      </main>
    );
  }
  return (
    <MeProvider value={me.data}>
      <Shell>
        <Boundary at={path}>
          <DialogHost>
            <Pages />
          </DialogHost>
        </Boundary>
      </Shell>
    </MeProvider>
  );
}

function Pages() {
  const [path, go] = useLocation();
  useEffect(() => {
    const back = path === "/" ? takeBack() : null;
    if (back !== null && back !== "/") go(back, { replace: true });
  }, [path, go]);
  return (
    <Switch>
      <Route path="/" component={Links} />
      <Route path="/links">
        <Redirect to="/" replace />
      </Route>
      <Route path="/links/create" component={CreateLink} />
      <Route path="/links/:target/:link/lanes/:where">
        {({ target, link, where }) => <LanePage key={`${target} ${link} ${where}`} target={target} link={link} where={where} />}
      </Route>
      <Route path="/links/:target/:link/:tab?">
        {({ target, link, tab }) => <LinkPage key={`${target} ${link}`} target={target} link={link} tab={tab ?? "lanes"} />}
      </Route>
      <Route path="/clusters" component={Clusters} />
      <Route path="/migrations" component={Migrations} />
      <Route path="/migrations/-/start" component={StartPage} />
      <Route path="/migrations/:name">{({ name }) => <MigrationPage key={name} name={name} />}</Route>
      <Route path="/migrations/:name/change">{({ name }) => <ChangePage key={name} name={name} />}</Route>
      <Route path="/artifacts" component={Artifacts} />
      <Route path="/artifacts/:name">{({ name }) => <ArtifactPage key={name} name={name} />}</Route>
      <Route path="/catalog/entries/:name">{({ name }) => <EntryPage key={name} name={name} />}</Route>
      <Route path="/catalog/:tab?">{({ tab }) => <Catalog key={tab} tab={tab ?? ""} />}</Route>
      <Route path="/streams" component={Streams} />
      <Route path="/streams/-/create" component={CreateStream} />
      <Route path="/streams/:name/edit">{({ name }) => <EditStream key={name} name={name} />}</Route>
      <Route path="/streams/:name/:tab?">{({ name, tab }) => <StreamPage key={name} name={name} tab={tab ?? ""} />}</Route>
      <Route path="/routes/versions/:version">{({ version }) => <VersionPage key={version} version={version} />}</Route>
      <Route path="/routes/switches/:id">{({ id }) => <SwitchPage key={id} id={id} />}</Route>
      <Route path="/routes/:tab?">{({ tab }) => <Routes key={tab} tab={tab ?? ""} />}</Route>
      <Route path="/applications" component={Applications} />
      <Route path="/applications/:id">{({ id }) => <ClientPage key={id} id={id} />}</Route>
      <Route path="/checkpoints/:tab?">{({ tab }) => <Checkpoints key={tab} tab={tab ?? ""} />}</Route>
      <Route path="/mirrormaker/:tab?">{({ tab }) => <MirrorMaker key={tab} tab={tab ?? ""} />}</Route>
      <Route path="/operations" component={Operations} />
      <Route path="/operations/:id">{({ id }) => <OperationPage key={id} id={id} />}</Route>
      <Route path="/plans/:id">{({ id }) => <PlanPage key={id} id={id} />}</Route>
      <Route path="/audit" component={Audit} />
      <Route path="/accounts" component={Accounts} />
      <Route component={NotThere} />
    </Switch>
  );
}
