import { computed, type Signal } from '@preact/signals';
import type { DeploymentRow, MachineRow } from '../../src/wire.ts';
import { compare, type Group, group, levels, query } from '../filters.ts';
import { LEVEL_NAMES, plural, ROLLOUT_LEVELS, ROLLOUT_NAMES, rolloutHref } from '../format.ts';
import { Badge, Meter, Name, Words } from '../parts/marks.tsx';
import { deployments, inNamespace, machines, shown, watched } from '../store.ts';
import { densityOf, Tiles } from './tiles.tsx';

type Rows = Signal<MachineRow>[];

interface Line {
  readonly key: string;
  readonly title: string;
  readonly cells: ReadonlyMap<string, Rows>;
  readonly size: number;
}

interface Layout {
  readonly lines: readonly Line[];
  readonly columns: readonly string[];
  readonly size: number;
}

const NONE: Readonly<Record<Group, string>> = {
  deployment: 'Without a deployment',
  zone: 'Zone not known',
  cls: 'Without a class',
  set: 'Without a set',
  ns: 'Without a namespace',
  level: '',
};

function titleOf(row: MachineRow): string {
  const by = group.value;
  if (by === 'level') return LEVEL_NAMES[row.level];
  const value = row[by];
  return value === '' ? NONE[by] : value;
}

/** If the page shows all namespaces, deployments with the same name are different groups. */
const keyOf = (row: MachineRow): string =>
  group.value === 'zone' || group.value === 'level' || group.value === 'ns'
    ? titleOf(row)
    : `${row.ns}/${titleOf(row)}`;

const layout = computed<Layout>(() => {
  const lines = new Map<string, { title: string; cells: Map<string, Rows>; size: number }>();
  const columns = new Set<string>();
  const filtered = levels.value.size > 0 || query.value !== '';
  // A deployment without machines is shown too, because its lack of machines may be the problem.
  if (group.value === 'deployment' && !filtered) {
    for (const { key, name } of inNamespace(deployments.value))
      lines.set(key, { title: name, cells: new Map(), size: 0 });
  }
  for (const signal of shown.value) {
    const row = signal.peek();
    const column = group.value === 'zone' ? '' : row.zone;
    columns.add(column);
    const key = keyOf(row);
    const line = lines.get(key) ?? { title: titleOf(row), cells: new Map<string, Rows>(), size: 0 };
    if (line.size === 0) lines.set(key, line);
    line.size += 1;
    const cell = line.cells.get(column);
    if (cell === undefined) line.cells.set(column, [signal]);
    else cell.push(signal);
  }
  for (const { cells } of lines.values()) {
    for (const cell of cells.values()) cell.sort((a, b) => compare(a.peek(), b.peek()));
  }
  return {
    lines: [...lines].map(([key, line]) => ({ key, ...line })).toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    columns: [...columns].toSorted(),
    size: shown.value.length,
  };
});

const zoneText = (zone: string): string => (zone === '' ? NONE.zone : zone);

function DeploymentHead({ row }: { row: DeploymentRow }) {
  const { key, name, state, available, desired, why, old } = row;
  return (
    <>
      <a class="line-title" href={rolloutHref(key)}>
        <Name>{name}</Name>
      </a>
      <Meter
        part={available}
        whole={desired}
        level={ROLLOUT_LEVELS[state]}
        label={`${available} of ${desired} machines of ${name} are available`}
      />
      <span class="line-facts">
        <span>
          <b>{available}</b>/{desired}
        </span>
        <Badge level={ROLLOUT_LEVELS[state]} text={ROLLOUT_NAMES[state]} />
        {old > 0 && <span class="quiet">{old} old</span>}
      </span>
      {why !== '' && (
        <span class="line-why">
          <Words>{why}</Words>
        </span>
      )}
    </>
  );
}

function Head({ line }: { line: Line }) {
  const row = group.value === 'deployment' ? deployments.value.get(line.key) : undefined;
  return (
    <div class="line-head">
      {row === undefined ? (
        <>
          <span class="line-title">
            <Name>{line.title}</Name>
          </span>
          <span class="line-facts quiet">{plural(line.size, 'machine')}</span>
        </>
      ) : (
        <DeploymentHead row={row} />
      )}
    </div>
  );
}

function Empty() {
  if (watched.value === undefined) return <p class="empty">Reading the fleet…</p>;
  if (machines.size > 0) return <p class="empty">No machine matches the filters.</p>;
  const where = watched.value === '' ? 'the cluster' : `namespace ${watched.value}`;
  return (
    <p class="empty">
      There are no machines in {where}. Create a MachineDeployment, for example with <code>kubectl apply</code>.
    </p>
  );
}

/** Shows one tile for each machine. The tiles have a row for each group and a column for each zone. */
export function Grid() {
  const { lines, columns, size } = layout.value;
  if (lines.length === 0) return <Empty />;
  const density = densityOf(size);
  const known = columns.length > 1 || (columns[0] ?? '') !== '';
  const weights = columns.map((column) => Math.max(...lines.map(({ cells }) => cells.get(column)?.length ?? 0), 1));
  const most = Math.max(...weights);
  // A column with few machines stays wide enough for its title.
  const template = weights.map((weight) => `minmax(0, ${Math.max(weight / most, 0.25).toFixed(3)}fr)`).join(' ');
  return (
    <div class="grid" style={{ '--columns': template }}>
      {known && group.value !== 'zone' && (
        <div class="line zones" aria-hidden="true">
          <div />
          {columns.map((column) => (
            <div class="zone" key={column}>
              {zoneText(column)}
            </div>
          ))}
        </div>
      )}
      {lines.map((line) => (
        <div class="line" key={line.key}>
          <Head line={line} />
          {columns.map((column) => {
            const rows = line.cells.get(column) ?? [];
            const zone = known && group.value !== 'zone' ? `, zone ${zoneText(column)}` : '';
            return (
              <div
                class="cell"
                key={column}
                data-zone={zone === '' ? '' : zoneText(column)}
                data-empty={rows.length === 0}
              >
                {rows.length > 0 && (
                  <Tiles
                    rows={rows}
                    density={density}
                    label={`${line.title}${zone}: ${plural(rows.length, 'machine')}`}
                  />
                )}
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}
