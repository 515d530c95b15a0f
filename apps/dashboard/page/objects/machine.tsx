import type { DrainSample, MachineDetail, MachineRow } from '../../src/wire.ts';
import { Chart, type ChartData } from '../charts/chart.tsx';
import { LifeLine } from '../charts/timeline.tsx';
import { duration, machineHref, rolloutHref, yamlHref } from '../format.ts';
import { Badge, Card, Name, Words } from '../parts/marks.tsx';
import { drains, events, machines, now, structure } from '../store.ts';
import { readJson, useLoaded } from './detail.ts';
import { EventTable } from './events.tsx';

const NUMBER = [{ name: 'Pods left', color: 'leaving', fill: true }];

/** Shows the number of pods of a drain over time, and the waits for PodDisruptionBudgets. */
function DrainHistory({ samples, name, end }: { samples: readonly DrainSample[]; name: string; end: number }) {
  // The last sample stays valid until now.
  const last = samples.at(-1);
  const shown = last === undefined || end <= last.at ? samples : [...samples, { ...last, at: end }];
  const data: ChartData = [shown.map(({ at }) => at), shown.map(({ left }) => left)];
  const until = (index: number): number => samples[index + 1]?.at ?? end;
  const waits = samples.flatMap(({ at, left, blockers }, index) =>
    blockers.length === 0 ? [] : [{ at, left, blockers, to: until(index) }],
  );
  return (
    <Card id="drain" title="Drain">
      <Chart label={`Pods that must leave the node of ${name}, over time`} lines={NUMBER} data={data} height={160} />
      {waits.length > 0 && (
        <ul class="waits">
          {waits.toReversed().map(({ at, left, blockers, to }) => (
            <li key={at}>
              <Badge level="blocked" text={duration(to - at)} /> <Words>{`${left} left: ${blockers.join('; ')}`}</Words>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Link({ machineKey }: { machineKey: string }) {
  return (
    <a href={machineHref(machineKey)}>
      <Name>{machineKey.slice(machineKey.indexOf('/') + 1)}</Name>
    </a>
  );
}

function Facts({ row, detail }: { row: MachineRow; detail: MachineDetail | undefined }) {
  const { ns, name, deployment, set, cls, node, zone } = row;
  return (
    <dl class="facts">
      <dt>Namespace</dt>
      <dd>{ns}</dd>
      <dt>Deployment</dt>
      <dd>
        {deployment === '' ? (
          '–'
        ) : (
          <a href={rolloutHref(`${ns}/${deployment}`)}>
            <Words>{deployment}</Words>
          </a>
        )}
      </dd>
      <dt>Set</dt>
      <dd>
        {set === '' ? (
          '–'
        ) : (
          <a href={yamlHref('machineset', ns, set)}>
            <Words>{set}</Words>
          </a>
        )}
      </dd>
      <dt>Class</dt>
      <dd>
        {cls === '' ? (
          '–'
        ) : (
          <a href={yamlHref('machineclass', ns, cls)}>
            <Words>{cls}</Words>
          </a>
        )}
      </dd>
      <dt>Zone</dt>
      <dd>{zone || '–'}</dd>
      <dt>Node</dt>
      <dd>
        {node === '' ? (
          'none yet'
        ) : (
          <a href={yamlHref('node', '', node)}>
            <Words>{node}</Words>
          </a>
        )}
      </dd>
      <dt>VM</dt>
      <dd class="break">
        <Words>{detail?.providerID || '–'}</Words>
      </dd>
      {detail?.successor && (
        <>
          <dt>Successor</dt>
          <dd>
            <Link machineKey={detail.successor} />
          </dd>
        </>
      )}
      {detail?.predecessor && (
        <>
          <dt>Replaces</dt>
          <dd>
            <Link machineKey={detail.predecessor} />
          </dd>
        </>
      )}
      <dt>YAML</dt>
      <dd>{detail?.exists === false ? 'deleted' : <a href={yamlHref('machine', ns, name)}>Show</a>}</dd>
    </dl>
  );
}

/** The page of one machine. A machine that was deleted in the last hours still has its page. */
export function MachinePage({ ns, name }: { ns: string; name: string }) {
  const key = `${ns}/${name}`;
  structure.value; // Draws the page again when the machine is created or deleted.
  const live = machines.get(key)?.value;
  const own = events.value.size;
  const drain = drains.value.get(key);
  const { data, problem } = useLoaded<MachineDetail>(
    `/api/machines/${key}`,
    `${live?.phase} ${live?.level} ${live?.why} ${live?.uid} ${own} ${drain?.left} ${drain?.blockers.join()}`,
    readJson,
  );
  const row = live ?? data?.row;
  return (
    <>
      <p class="trail">
        <a href="/">Fleet</a> / Machine
      </p>
      <h1 class="break">
        <Words>{name}</Words>
      </h1>
      <p class="status">
        {live !== undefined && (
          <>
            <Badge level={live.level} /> {live.phase} for {duration(now.value - live.since)}
            {live.why !== '' && (
              <span class="quiet">
                <Words>{` – ${live.why}`}</Words>
              </span>
            )}
          </>
        )}
        {live === undefined && data !== undefined && (
          <>
            <Badge level="leaving" text="Does not exist" />
            {row !== undefined && (
              <Words>{` The last state was ${row.phase}${row.why === '' ? '' : `: ${row.why}`}.`}</Words>
            )}
          </>
        )}
      </p>
      {problem !== undefined && <p class="gap">{problem}</p>}
      {data === undefined && problem === undefined && <p class="empty">Loading …</p>}
      <div class="columns wide-left">
        <div>
          {data?.life !== undefined && (
            <Card id="life" title="Life">
              <LifeLine life={data.life} now={now.value} />
            </Card>
          )}
          {data !== undefined && data.drain.length > 0 && (
            <DrainHistory samples={data.drain} name={name} end={data.life?.gone || now.value} />
          )}
          {data !== undefined && (
            <Card id="explain" title="Explanation">
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area needs the focus for the arrow keys */}
              <pre tabIndex={0}>
                <Words>{data.explain.join('\n')}</Words>
              </pre>
            </Card>
          )}
        </div>
        <div>
          {row !== undefined && (
            <Card id="facts" title="Objects">
              <Facts row={row} detail={data} />
            </Card>
          )}
          {data !== undefined && (
            <Card id="events" title="Events">
              <EventTable rows={data.events} short />
            </Card>
          )}
        </div>
      </div>
    </>
  );
}
