import { computed } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { Level, MachineRow } from '../../src/wire.ts';
import { compare, levels, SORTS, type Sort, sort } from '../filters.ts';
import { Choice } from '../fleet/fleet.tsx';
import { duration, LEVEL_NAMES, machineHref, rolloutHref, yamlHref } from '../format.ts';
import { Badge, Card, Name, Words } from '../parts/marks.tsx';
import { machineChanges, now, shown } from '../store.ts';

const FIRST = 200;

const sorted = computed<readonly MachineRow[]>(() => {
  machineChanges.value;
  return shown.value.map((row) => row.peek()).toSorted(compare);
});

function Row({ row }: { row: MachineRow }) {
  const { key, ns, name, level, phase, deployment, zone, node, cls, why, since } = row;
  return (
    <tr>
      <th scope="row">
        <a href={machineHref(key)}>
          <Name>{name}</Name>
        </a>
      </th>
      <td>
        <Badge level={level} text={phase} />
      </td>
      <td class="number" data-of="for">
        {duration(now.value - since)}
      </td>
      <td>
        {deployment !== '' && (
          <a href={rolloutHref(`${ns}/${deployment}`)}>
            <Name>{deployment}</Name>
          </a>
        )}
      </td>
      <td>{zone}</td>
      <td>
        {node !== '' && (
          <a href={yamlHref('node', '', node)}>
            <Name>{node}</Name>
          </a>
        )}
      </td>
      <td>
        {cls !== '' && (
          <a href={yamlHref('machineclass', ns, cls)}>
            <Name>{cls}</Name>
          </a>
        )}
      </td>
      <td class="text">
        <Words>{why}</Words>
      </td>
    </tr>
  );
}

export function MachinesPage() {
  const [most, setMost] = useState(FIRST);
  const rows = sorted.value;
  const only = [...levels.value][0] ?? '';
  const states = { '': 'All', ...LEVEL_NAMES } as const;
  return (
    <>
      <h1>Machines</h1>
      <Card
        id="machines"
        title="All machines"
        aside={
          <>
            <span class="quiet">{rows.length.toLocaleString('en-US')}</span>
            <span class="grow" />
            <Choice
              label="State"
              all={states}
              value={only}
              onChange={(value) => (levels.value = new Set(value === '' ? [] : [value as Level]))}
            />
            <Choice<Sort> label="Sort by" all={SORTS} value={sort.value} onChange={(value) => (sort.value = value)} />
          </>
        }
      >
        {rows.length === 0 ? (
          <p class="empty">No machine matches.</p>
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area needs the focus for the arrow keys
          <section class="wide" aria-label="Table of machines" tabIndex={0}>
            <table class="rows">
              <thead>
                <tr>
                  {['Name', 'Phase', 'For', 'Deployment', 'Zone', 'Node', 'Class', 'Reason'].map((title) => (
                    <th key={title} scope="col">
                      {title}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.slice(0, most).map((row) => (
                  <Row key={row.key} row={row} />
                ))}
              </tbody>
            </table>
          </section>
        )}
        {rows.length > most && (
          <button type="button" onClick={() => setMost(most + FIRST)}>
            Show more
          </button>
        )}
      </Card>
    </>
  );
}
