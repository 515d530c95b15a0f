import { controllersText } from '../../src/controllers.ts';
import { LEVELS, type Level } from '../../src/wire.ts';
import { GROUPS, type Group, group, levels, query, SORTS, type Sort, sort } from '../filters.ts';
import { LEVEL_NAMES } from '../format.ts';
import { Card, Shape } from '../parts/marks.tsx';
import { controllers, counts, deployments, drains, inNamespace, shown } from '../store.ts';
import { Attention } from './attention.tsx';
import { Grid } from './grid.tsx';
import { TrendChart } from './trend.tsx';

function toggle(level: Level): void {
  const next = new Set(levels.value);
  if (!next.delete(level)) next.add(level);
  levels.value = next;
}

/** The legend of the tiles, with counts. Each entry filters the tiles. */
function LevelFilter() {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for the fields of a form
    <div class="stats" role="group" aria-label="States of machines">
      {[...LEVELS].reverse().map((level) => (
        <button
          key={level}
          type="button"
          class={`stat ${level}`}
          aria-pressed={levels.value.has(level)}
          onClick={() => toggle(level)}
        >
          <b>{(counts.value.get(level) ?? 0).toLocaleString('en-US')}</b>
          <span class="stat-name">
            <Shape level={level} />
            {LEVEL_NAMES[level]}
          </span>
        </button>
      ))}
    </div>
  );
}

/** Shows the problems of objects other than machines. */
function Others() {
  const rollouts = inNamespace(deployments.value).filter(
    ({ state }) => state === 'blocked' || state === 'failed',
  ).length;
  const held = inNamespace(drains.value).filter(({ level }) => level !== 'leaving').length;
  const { text, isBad } = controllersText(inNamespace(controllers.value));
  return (
    <div class="others">
      <a href="/rollouts" class={rollouts > 0 ? 'bad' : ''}>
        <b>{rollouts}</b> {rollouts === 1 ? 'blocked rollout' : 'blocked rollouts'}
      </a>
      <a href="/drains" class={held > 0 ? 'bad' : ''}>
        <b>{held}</b> {held === 1 ? 'blocked drain' : 'blocked drains'}
      </a>
      <a href="/system" class={isBad ? 'bad' : ''}>
        {text}
      </a>
    </div>
  );
}

/** A label with a list of options. */
export function Choice<T extends string>({
  label,
  all,
  value,
  onChange,
}: {
  label: string;
  all: Readonly<Record<T, string>>;
  value: T;
  onChange: (value: T) => void;
}) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value as T)}>
        {Object.entries<string>(all).map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The first page: counts, problems, and a tile for each machine. */
export function Fleet() {
  const filtered = query.value !== '' || levels.value.size > 0;
  const total = [...counts.value.values()].reduce((sum, each) => sum + each, 0);
  return (
    <>
      <h1 class="hidden">Fleet</h1>
      <div class="top">
        <LevelFilter />
        <Others />
      </div>
      <div class="columns">
        <Attention />
        <TrendChart />
      </div>
      <Card
        id="machines"
        title="Machines"
        aside={
          <>
            <span class="quiet">
              {filtered
                ? `${shown.value.length.toLocaleString('en-US')} of ${total.toLocaleString('en-US')}`
                : total.toLocaleString('en-US')}
            </span>
            <span class="grow" />
            <Choice<Group>
              label="Group by"
              all={GROUPS}
              value={group.value}
              onChange={(value) => (group.value = value)}
            />
            <Choice<Sort> label="Sort by" all={SORTS} value={sort.value} onChange={(value) => (sort.value = value)} />
          </>
        }
      >
        <Grid />
      </Card>
    </>
  );
}
