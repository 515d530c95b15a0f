import { formatDurationMs, parseTime } from '@mcm/api';
import { hookKey, type PendingHook } from '@mcm/core';
import { unreadLines } from '../../cluster/allowed.ts';
import { quarantineLines } from '../../cluster/quarantine.ts';
import { controllerLines } from '../../controllers/health.ts';
import { blockLines } from '../reasons/block-lines.ts';
import { drainLines } from '../reasons/drain-lines.ts';
import { evidenceLines, keptVmLines } from '../reasons/evidence-lines.ts';
import type { LivingMachine } from './living-machine.ts';
import type { DrainPreview, MachineExplanation } from './machine.ts';
import { type MachineWait, waitLine } from './machine-wait.ts';

export function machineLines(reported: MachineExplanation, now: Date): string[] {
  const kept = [
    ...keptVmLines(reported.keptVms, reported.namespace),
    ...evidenceLines(reported.evidence, reported.namespace),
  ];
  const lines = reported.there
    ? livingLines(reported.machine, reported, now)
    : [`machine ${reported.machine} no longer exists`];
  return [...lines, ...unreadLines(reported.unread), ...(kept.length > 0 ? ['', ...kept] : [])];
}

const list = (title: string, items: readonly string[]): string[] =>
  items.length === 0 ? [] : ['', title, ...items.map((item) => `  - ${item}`)];

const spaced = (lines: readonly string[]): readonly string[] => (lines.length === 0 ? [] : ['', ...lines]);

function livingLines(name: string, reported: LivingMachine, now: Date): string[] {
  const { phase, waitsFor, preserved, node, cause, hints, drain, events } = reported;
  return [
    `machine ${name}`,
    `  phase  ${phase}${sinceText(reported.since, now)}${preserved ? `, ${preserved}` : ''}`,
    ...(reported.deletionCause ? [`  cause  ${reported.deletionCause}`] : []),
    `  VM     ${reported.providerID ?? (reported.deletionCause ? 'not recorded' : 'none yet')}`,
    `  node   ${node.name ? `${node.name}, ` : ''}${node.state}`,
    `  class  ${reported.class.name}${reported.class.missing ? ' (this MachineClass does not exist, so mcm cannot create or delete the VM)' : ''}`,
    ...(reported.zone
      ? [`  zone   ${reported.zone}${reported.zoneReason ? `, because ${reported.zoneReason}` : ''}`]
      : []),
    ...(reported.alternative
      ? [`  from   ${reported.alternative}, because the cloud had no capacity for the first offering of the class`]
      : []),
    ...spaced(controllerLines(reported.controllers, now)),
    ...(reported.interruption ? ['', `${reported.interruption}.`] : []),
    '',
    waitsFor ? waitLine(reportedOnce(waitsFor, drain), now) : `It is ${phase}. No action is pending.`,
    ...creationLines(reported.birth, now),
    ...(cause?.category ? [`Kind of failure: ${cause.category}. Responsible for the fix: ${cause.fault}`] : []),
    ...list('Blocked by:', blockLines(reported.blockedBy ?? [], now)),
    ...list(
      'Hooks that have not finished:',
      reported.hooks.map((hook) => hookLine(name, hook, now)),
    ),
    ...hints.map((hint) => `Hint: ${hint}`),
    ...list('User requests that have no effect:', reported.askedInVain),
    ...list('Changes to the Node by other clients:', reported.drift),
    ...list('VMs in quarantine:', quarantineLines(reported.quarantinedVms)),
    ...(drain ? ['', ...drainLines(drain, now)] : []),
    ...list('Flags:', reported.remarks),
    ...(events.length > 0 ? ['', 'Last events:'] : []),
    ...events.map(({ at, type, reason, message }) => `  ${at}  ${type}  ${reason}: ${message}`),
  ];
}

/**
 * Removes the blockers of a drain from the text of a wait, because the output lists them later with hints.
 */
function reportedOnce(wait: MachineWait, drain: LivingMachine['drain']): MachineWait {
  const below = drain?.blockers.some(({ text }) => wait.doing.includes(text)) ?? false;
  return below ? { ...wait, doing: 'the drain is blocked; details are below' } : wait;
}

function hookLine(machine: string, { hook, since, until }: PendingHook, now: Date): string {
  const age = formatDurationMs(Math.floor(Math.max(now.getTime() - since.getTime(), 0) / 1_000) * 1_000);
  const then =
    hook.afterTimeout === 'Continue'
      ? 'after the timeout, the machine continues with the next step'
      : 'after the timeout, the machine still waits for the hook';
  const timeout = until <= now ? 'the timeout of the hook has passed' : `timeout ${formatDurationMs(hook.timeoutMs)}`;
  const key = hookKey(hook);
  return `${hook.stage} ${hook.name} of ${hook.owner}, for ${age}, ${timeout}, ${then}. To end the hook: kubectl annotate machine ${machine} ${key}-`;
}

const creationLines = (stages: LivingMachine['birth'], now: Date): string[] => {
  const lines = (stages ?? []).map(
    ({ type, status, reason, since }) =>
      `  ${type.padEnd(24)} ${status.padEnd(7)} ${reason}${status === 'True' && since ? `, since ${since}` : sinceText(since, now)}`,
  );
  return lines.length > 0 ? ['', 'Progress:', ...lines] : [];
};

function sinceText(since: string | undefined, now: Date): string {
  const at = parseTime(since);
  if (at === undefined) return '';
  const ms = Math.max(Math.floor((now.getTime() - at.getTime()) / 1_000) * 1_000, 0);
  return `, since ${since} (${formatDurationMs(ms)})`;
}

export function previewLines(
  { machine, node, waitsFor, drain, remarks, controllers, unread }: DrainPreview,
  now: Date,
): string[] {
  const none =
    node !== null && unread.length > 0
      ? `machine ${machine} has node ${node}`
      : `machine ${machine} has no node, so mcm deletes the machine without a drain`;
  const known = drain ? [...drainLines(drain, now), ...list('Flags:', remarks)] : [none];
  const step = waitsFor ? [waitLine(reportedOnce(waitsFor, drain ?? undefined), now), ''] : [];
  return [...step, ...known, ...spaced(controllerLines(controllers, now)), ...unreadLines(unread)];
}
