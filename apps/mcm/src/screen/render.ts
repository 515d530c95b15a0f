import { stripVTControlCharacters, styleText } from 'node:util';
import { controllerLines } from '../controllers/health.ts';
import { age } from '../output/age.ts';
import type { DeploymentView, EventView, FleetView, MachineView } from './fleet.ts';

/** `failed`: it ended by itself and is restarted after a delay. */
export type ProgramState = 'starting' | 'ready' | 'failed' | 'stopped';

/** The content and the size of the live screen. */
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
  const head = [
    `${paint('bold', view.title)}  ${paint('gray', `up ${age(view.now.getTime() - view.startedAt.getTime())}`)}`,
    '',
    ...view.programs.map(
      (p) =>
        `  ${paint(PROGRAM_STYLE[p.state], '●')} ${p.name.padEnd(28)}${p.state === 'ready' ? p.address : p.state}${p.restarts > 0 ? paint('yellow', `  restarted ${p.restarts}×`) : ''}`,
    ),
    ...controllerLines(view.fleet.controllers, view.now).map((line) => paint('red', `  ${line}`)),
    '',
    phaseLine(view.fleet),
    '',
    ...view.fleet.deployments.map(deploymentLine),
  ];
  const foot = ['', ...view.hint.map((line) => paint('gray', line))];
  const room = Math.max(0, view.rows - head.length - foot.length - 1);
  const eventRoom = Math.min(view.fleet.events.length, Math.max(0, Math.min(8, room - 1)));
  const machineRoom = Math.max(0, room - (eventRoom > 0 ? eventRoom + 2 : 0) - 1);
  const body = [
    ...machineLines(view.fleet.machines, machineRoom, view.now),
    ...eventLines(view.fleet.events.slice(view.fleet.events.length - eventRoom)),
  ];
  return [...head, ...body, ...foot]
    .slice(0, Math.max(1, view.rows - 1))
    .map((line) => cut(line, view.columns))
    .join('\n');
}

const phaseLine = (fleet: FleetView): string => {
  const total = fleet.machines.length;
  const parts = [...fleet.phases].map(([phase, count]) => paint(phaseStyle(phase), `${count} ${phase}`));
  return `${paint('bold', `${total} ${total === 1 ? 'machine' : 'machines'}`)}${parts.length > 0 ? `  ${parts.join('  ')}` : ''}`;
};

function deploymentLine(d: DeploymentView): string {
  const counts = `${d.available}/${d.desired} available`;
  const state = d.paused
    ? paint('yellow', 'paused')
    : d.old > 0 || d.updated < d.desired
      ? rollout(d)
      : paint('green', 'up to date');
  const problem = d.problem ? `  ${paint('yellow', d.problem)}` : '';
  return `  ${d.name.padEnd(24)} ${counts.padEnd(18)} ${state}${problem}`;
}

const BAR = 20;
function rollout(d: DeploymentView): string {
  const share = d.desired === 0 ? (d.old === 0 ? 1 : 0) : Math.min(1, d.updated / d.desired);
  const filled = Math.round(share * BAR);
  const old = d.old > 0 ? `, ${d.old} old left` : '';
  return `${paint('cyan', '█'.repeat(filled))}${paint('gray', '░'.repeat(BAR - filled))} ${d.updated}/${d.desired} updated${old}`;
}

/** Machines that are not Running come first, because they need attention. */
function machineLines(machines: readonly MachineView[], room: number, now: Date): string[] {
  if (room < 2 || machines.length === 0) return [];
  const ordered = [...machines.filter((m) => m.phase !== 'Running'), ...machines.filter((m) => m.phase === 'Running')];
  const shown = ordered.slice(0, ordered.length > room - 1 ? room - 2 : room - 1);
  const hidden = ordered.length - shown.length;
  return [
    '',
    ...shown.map(
      (m) =>
        `  ${m.name.padEnd(30)} ${paint(phaseStyle(m.phase), m.phase.padEnd(17))} ${age(now.getTime() - Date.parse(m.createdAt)).padEnd(6)} ${paint('gray', m.doing)}`,
    ),
    ...(hidden > 0 ? [paint('gray', `  … ${hidden} more`)] : []),
  ];
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

/** Cuts a colored line to `columns` visible characters. */
export function cut(line: string, columns: number): string {
  if (stripVTControlCharacters(line).length <= columns) return line;
  let visible = 0;
  let out = '';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colors are escape sequences
  for (const [part] of line.matchAll(/\u001b\[[0-9;]*m|[\s\S]/gu)) {
    if (part.startsWith('\u001b')) out += part;
    else if (visible < columns - 1) {
      out += part;
      visible += 1;
    }
  }
  return `${out}…\u001b[0m`;
}
