import { render } from 'preact';
import { Fleet } from './fleet/fleet.tsx';
import { connect } from './live.ts';
import { ClustersPage } from './objects/clusters.tsx';
import { DrainsPage } from './objects/drains.tsx';
import { EventsPage } from './objects/events.tsx';
import { MachinePage } from './objects/machine.tsx';
import { MachinesPage } from './objects/machines.tsx';
import { RolloutPage, RolloutsPage } from './objects/rollouts.tsx';
import { SystemPage } from './objects/system.tsx';
import { YamlPage } from './objects/yaml.tsx';
import { Header } from './parts/header.tsx';
import { Words } from './parts/marks.tsx';
import { startTip, Tip } from './parts/tip.tsx';
import { path, startRouter } from './router.ts';
import { gaps, startClock } from './store.ts';
import { startTheme } from './theme.ts';
import 'uplot/dist/uPlot.min.css';
import './style.css';

function Page() {
  const [, first = '', a = '', b = '', c = ''] = path.value.split('/');
  document.title = b === '' ? `mcm ${first || 'fleet'}` : `${c || b} – mcm`;
  if (first === 'machines') return b === '' ? <MachinesPage /> : <MachinePage ns={a} name={b} key={path.value} />;
  if (first === 'rollouts') return b === '' ? <RolloutsPage /> : <RolloutPage ns={a} name={b} key={path.value} />;
  if (first === 'clusters') return <ClustersPage />;
  if (first === 'drains') return <DrainsPage />;
  if (first === 'events') return <EventsPage />;
  if (first === 'system') return <SystemPage />;
  if (first === 'yaml') return <YamlPage kind={a} ns={b} name={c} />;
  return <Fleet />;
}

const Gaps = () => (
  <div aria-live="polite">
    {gaps.value.map((gap) => (
      <p class="gap" key={gap}>
        <Words>{gap}</Words>
      </p>
    ))}
  </div>
);

const App = () => (
  <>
    <Header />
    <main id="content" tabIndex={-1}>
      <Gaps />
      <Page />
    </main>
    <Tip />
  </>
);

startTheme();
startRouter();
startClock();
startTip();
render(<App />, document.body);
connect();
