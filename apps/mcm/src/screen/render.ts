import { stripVTControlCharacters, styleText } from 'node:util';
import { CONTROLLER_NAMES, controllerLines } from '../controllers/health.ts';
import { age } from '../output/age.ts';
import { wrapped } from '../output/wrap.ts';
import type { DeploymentView, EventView, FleetView } from './fleet.ts';

/** The state of a program of `mcm up`. `failed`: the program has ended unexpectedly, and is restarted after a delay. */
export type ProgramState = 'starting' | 'ready' | 'failed' | 'stopped';

/** What the live screen shows, and the size of the screen. */
export interface ScreenView {
  readonly title: string;
  readonly now: Date;
  readonly startedAt: Date;
  readonly programs: readonly {
    readonly name: string;
    readonly state: ProgramState;
    readonly address: string;
    readonly restarts: number;
  }[];
  readonly fleet: FleetView;
  readonly hint: readonly string[];
  readonly columns: number;
  readonly rows: number;
}

/**
 * The number of columns below which a terminal is narrow. On a narrow terminal, a column is only as wide as its longest
 * text.
 */
const NARROW = 100;

/** Returns the width of a column: its usual width, or on a narrow terminal the width of its longest text. */
const widthOf = (usual: number, { columns }: ScreenView, texts: readonly string[]): number =>
  columns < NARROW ? Math.max(0, ...texts.map(({ length }) => length)) : usual;

/** Returns the gap between columns. On a narrow terminal, the columns have no padding that separates their texts. */
const gapOf = (columns: number): string => (columns < NARROW ? '  ' : ' ');

type Style = Parameters<typeof styleText>[0];
const paint = (style: Style, text: string): string => styleText(style, text, { validateStream: false });

const PROGRAM_STYLE: Record<ProgramState, Style> = {
  starting: 'yellow',
  ready: 'green',
  failed: 'red',
  stopped: 'gray',
};
const PHASE_STYLE: Readonly<Record<string, Style>> = {
  Running: 'green',
  Available: 'green',
  Pending: 'yellow',
  Creating: 'yellow',
  Unknown: 'magenta',
  Failed: 'red',
  CrashLoopBackOff: 'red',
  Terminating: 'gray',
};
const phaseStyle = (phase: string): Style => PHASE_STYLE[phase] ?? 'cyan';

/** Draws one frame with at most `rows` lines and `columns` columns. */
export function renderScreen(view: ScreenView): string {
  const named = widthOf(
    26,
    view,
    view.programs.map(({ name }) => name),
  );
  const head = [
    `${paint('bold', view.title)}  ${paint('gray', `up ${age(view.now.getTime() - view.startedAt.getTime())}`)}`,
    '',
    ...view.programs.map((program) => programLine(program, named, view)),
    ...controllerLines(view.fleet.controllers, view.now)
      .flatMap((line) => wrapped(`  ${line}`, view.columns))
      .map((line) => paint('red', line)),
    '',
    phaseLine(view.fleet),
    '',
    ...deploymentLines(view),
  ];
  const foot = ['', ...view.hint.flatMap((line) => wrapped(line, view.columns)).map((line) => paint('gray', line))];
  const room = Math.max(0, view.rows - head.length - foot.length - 1);
  // The machines get at least half of the lines, because the events do not show which machines wait.
  const machineShare = Math.min(view.fleet.machines.length + 1, Math.ceil(room / 2));
  const eventRoom = Math.min(view.fleet.events.length, Math.max(0, Math.min(8, room - machineShare - 2)));
  const machineRoom = Math.max(0, room - (eventRoom > 0 ? eventRoom + 2 : 0) - 1);
  const body = [
    ...machineLines(view, machineRoom),
    ...eventLines(view.fleet.events.slice(view.fleet.events.length - eventRoom)),
  ];
  return [...head, ...body, ...foot]
    .slice(0, Math.max(1, view.rows - 1))
    .map((line) => cut(line, view.columns))
    .join('\n');
}

const isNamedLikeController = (program: string): boolean => CONTROLLER_NAMES.some((one) => one === program);

/** Returns true if the program is not working. */
const isStopped = (program: string, { controllers }: FleetView): boolean =>
  controllers.some(
    ({ name, state }) =>
      state === 'stopped' &&
      (name === program ||
        (name === 'machine-controller' && program.startsWith(`${name}-`) && !isNamedLikeController(program))),
  );

function programLine(
  { name, state, address, restarts }: ScreenView['programs'][number],
  width: number,
  { fleet, columns }: ScreenView,
): string {
  const isController = CONTROLLER_NAMES.some((one) => name.startsWith(one));
  const isBad = state === 'ready' && isStopped(name, fleet);
  const start = `  ${paint(isBad ? 'red' : PROGRAM_STYLE[state], '●')} ${name.padEnd(width)}  `;
  const times = restarts > 0 ? paint('yellow', `restarted ${restarts}×`) : '';
  const texts = [
    isBad && !isController ? paint('red', 'does not respond') : state === 'ready' ? address : state,
    times,
  ];
  const line = start + texts.filter((text) => text !== '').join('  ');
  const fits = stripVTControlCharacters(line).length <= columns;
  return fits || state !== 'ready' || isBad || times === '' ? line : start + times;
}

const phaseLine = (fleet: FleetView): string => {
  const total = fleet.machines.length;
  const parts = [...fleet.phases].map(([phase, count]) => paint(phaseStyle(phase), `${count} ${phase}`));
  return `${paint('bold', `${total} ${total === 1 ? 'machine' : 'machines'}`)}${parts.length > 0 ? `  ${parts.join('  ')}` : ''}`;
};

const countsOf = ({ available, desired }: DeploymentView): string => `${available}/${desired} available`;

function deploymentLines(view: ScreenView): string[] {
  const { deployments } = view.fleet;
  const widths = [
    widthOf(
      24,
      view,
      deployments.map(({ name }) => name),
    ),
    widthOf(18, view, deployments.map(countsOf)),
  ] as const;
  const bar = view.columns < NARROW ? BAR / 2 : BAR;
  return deployments.flatMap((one) => deploymentLine(one, widths, bar, view.columns));
}

function deploymentLine(
  d: DeploymentView,
  [name, counts]: readonly [name: number, counts: number],
  bar: number,
  columns: number,
): string[] {
  const state = d.paused
    ? paint('yellow', 'paused')
    : !d.observed
      ? paint('yellow', 'change not yet seen')
      : d.old > 0 || d.updated < d.desired
        ? rollout(d, bar)
        : paint('green', 'up to date');
  const gap = gapOf(columns);
  const line = `  ${d.name.padEnd(name)}${gap}${countsOf(d).padEnd(counts)}${gap}${state}`;
  if (!d.problem) return [line];
  if (stripVTControlCharacters(line).length + 2 + d.problem.length <= columns)
    return [`${line}  ${paint('yellow', d.problem)}`];
  return [line, ...wrapped(`    ${d.problem}`, columns).map((text) => paint('yellow', text))];
}

const BAR = 20;
function rollout(d: DeploymentView, bar: number): string {
  const share = d.desired === 0 ? (d.old === 0 ? 1 : 0) : Math.min(1, d.updated / d.desired);
  const filled = Math.round(share * bar);
  const old = d.old > 0 ? `, ${d.old} old` : '';
  return `${paint('cyan', '█'.repeat(filled))}${paint('gray', '░'.repeat(bar - filled))} ${d.updated}/${d.desired} updated${old}`;
}

function machineLines(view: ScreenView, room: number): string[] {
  const { now, fleet } = view;
  const { machines } = fleet;
  if (room < 2 || machines.length === 0) return [];
  const ordered = [...machines.filter((m) => m.phase !== 'Running'), ...machines.filter((m) => m.phase === 'Running')];
  // Each machine needs at least one line, so only the first `room` machines determine the column widths.
  const candidates = ordered.slice(0, room);
  const name = widthOf(
    30,
    view,
    candidates.map((one) => one.name),
  );
  const phase = widthOf(
    17,
    view,
    candidates.map((one) => one.phase),
  );
  const gap = gapOf(view.columns);
  const texts = candidates.map((m) => {
    const state = paint(phaseStyle(m.phase), m.phase.padEnd(phase));
    const line = `  ${m.name.padEnd(name)}${gap}${state}${gap}${age(now.getTime() - Date.parse(m.createdAt)).padEnd(6)}`;
    const doing = paint('gray', m.doing);
    const fits = stripVTControlCharacters(line).length + 1 + m.doing.length <= view.columns;
    return fits || view.columns >= NARROW ? [`${line} ${doing}`] : [line, `    ${doing}`];
  });
  const isAll = ordered.length === candidates.length && texts.flat().length <= room - 1;
  const shown = isAll ? texts : fitting(texts, room - 2);
  const hidden = ordered.length - shown.length;
  return ['', ...shown.flat(), ...(hidden > 0 ? [paint('gray', `  … ${hidden} more`)] : [])];
}

/** Returns the first texts that together have at most `room` lines. */
function fitting(texts: readonly (readonly string[])[], room: number): readonly (readonly string[])[] {
  let left = room;
  const tooLong = texts.findIndex(({ length }) => {
    left -= length;
    return left < 0;
  });
  return tooLong < 0 ? texts : texts.slice(0, tooLong);
}

const eventLines = (events: readonly EventView[]): string[] =>
  events.length === 0
    ? []
    : [
        '',
        ...events.map((e) => {
          const time = paint('gray', e.at.slice(11, 19));
          const text = `${e.reason} ${e.object}: ${e.message}${e.count > 1 ? ` (×${e.count})` : ''}`;
          return `  ${time} ${e.type === 'Warning' ? paint('yellow', text) : text}`;
        }),
      ];

/** Shortens a colored line to `columns` visible characters, after the last whole word. */
export function cut(line: string, columns: number): string {
  const text = stripVTControlCharacters(line);
  if (text.length <= columns) return line;
  const end = text.lastIndexOf(' ', columns - 1) + 1;
  const kept = text.slice(0, end).trim() === '' ? columns - 1 : Math.min(end, columns - 1);
  let visible = 0;
  let out = '';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colors are escape sequences
  for (const [part] of line.matchAll(/\u001b\[[0-9;]*m|[\s\S]/gu)) {
    if (part.startsWith('\u001b')) out += part;
    else if (visible < kept) {
      out += part;
      visible += 1;
    }
  }
  return `${out}…\u001b[0m`;
}
