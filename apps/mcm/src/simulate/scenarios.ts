import { type Machine, phaseOf } from '@mcm/api';
import { UserError } from '../command/errors.ts';
import { RolloutAnnotations } from '../rollout/actions.ts';
import type { History } from './history.ts';

const MINUTE = 60_000;
const NOTICE_MS = 2 * MINUTE;
const ZONE_LOSS_MS = 30 * MINUTE;
const MAX_SILENCE_MS = 40 * MINUTE;
const ACTS = 6;
const MAX_PAUSE_MS = 5 * MINUTE;

export interface Scenario {
  readonly means: string;
  readonly play: (history: History) => Promise<void>;
}

const running = ({ fleet }: History): readonly Machine[] =>
  fleet.machines.filter((machine) => phaseOf(machine) === 'Running' && !machine.metadata.deletionTimestamp);

/** Changes the template of each deployment, so that all machines are replaced or updated. */
async function roll(history: History): Promise<void> {
  const { fleet } = history;
  const restarted = fleet.clock.now().toISOString();
  for (const deployment of await fleet.deployments()) {
    history.note(`the user changes the template of ${deployment.metadata.name}`);
    const metadata = { annotations: { [RolloutAnnotations.RestartedAt]: restarted } };
    await fleet.change(deployment.metadata.name, { template: { metadata } });
  }
}

async function resize(history: History, sizeOf: (replicas: number) => number): Promise<void> {
  const { fleet } = history;
  for (const deployment of await fleet.deployments()) {
    const replicas = sizeOf(deployment.spec.replicas ?? 0);
    history.note(`the user scales ${deployment.metadata.name} to ${replicas}`);
    fleet.wishes({ ...deployment, spec: { ...deployment.spec, replicas } });
    await fleet.change(deployment.metadata.name, { replicas });
  }
}

/** The kubelet of a machine stops for some time, as on a broken host. */
async function failNodes(history: History): Promise<void> {
  const machine = history.one(running(history));
  if (!machine) return;
  history.note(`the node of ${machine.metadata.name} stops reporting`);
  history.fleet.order(machine, { silent: true });
  history.later(MINUTE + history.number(MAX_SILENCE_MS), () => history.fleet.order(machine, { silent: false }));
}

async function interrupt(history: History): Promise<void> {
  if (!history.interrupt)
    throw new UserError(
      'the scenario spot needs --flags=--interruptions, and a cloud with notices: openCloud() must return interrupt()',
    );
  const all = running(history);
  const chosen = all.filter(() => history.number(3) === 0);
  for (const machine of chosen.length > 0 ? chosen : all.slice(0, 1)) {
    history.note(`the cloud announces the end of ${machine.metadata.name}`);
    history.fleet.vms.mayEnd(machine);
    await history.interrupt(machine.metadata.name, NOTICE_MS);
  }
}

const zonesOf = (history: History): readonly string[] =>
  [...new Set(running(history).map((machine) => history.fleet.vms.zoneOf(machine)))]
    .filter((zone) => zone !== '')
    .sort();

async function loseZone(history: History, zone: string): Promise<void> {
  const { fleet } = history;
  history.note(`zone ${zone} is lost`);
  const lost = running(history).filter((machine) => fleet.vms.zoneOf(machine) === zone);
  fleet.vms.loseZone(zone);
  for (const machine of lost) fleet.order(machine, { silent: true });
  await history.pass(ZONE_LOSS_MS);
  history.note(`zone ${zone} works again`);
  fleet.vms.returnZone(zone);
  for (const machine of lost) fleet.order(machine, { silent: false });
}

async function playZoneLoss(history: History): Promise<void> {
  const zone = history.one(zonesOf(history));
  if (zone === undefined)
    throw new UserError('the scenario zone-loss needs a driver whose alternatives return the zone of a machine');
  await loseZone(history, zone);
}

async function playRandom(history: History): Promise<void> {
  const zones = zonesOf(history);
  // Only a fleet with several zones loses a zone. In a fleet with one zone, the circuit breaker would stop all
  // replacements until the zone works again.
  const zone = zones.length > 1 ? history.one(zones) : undefined;
  const acts: readonly (() => Promise<void>)[] = [
    () => roll(history),
    () => resize(history, (replicas) => Math.max(1, replicas + history.number(5) - 2)),
    () => failNodes(history),
    ...(history.interrupt ? [() => interrupt(history)] : []),
    ...(zone === undefined ? [] : [() => loseZone(history, zone)]),
  ];
  for (let act = 0; act < ACTS; act++) {
    await history.one(acts)?.();
    await history.pass(history.number(MAX_PAUSE_MS));
  }
}

async function playScale(history: History): Promise<void> {
  const before = new Map((await history.fleet.deployments()).map(({ spec }) => [spec, spec.replicas ?? 0]));
  const most = Math.max(...before.values());
  const added = Math.max(1, Math.ceil(most / 2));
  await resize(history, (replicas) => replicas + added);
  await history.complete();
  history.startFaults();
  await resize(history, (replicas) => replicas - added);
}

async function playRoll(history: History): Promise<void> {
  await roll(history);
  history.fleet.measurements.rollMs.push(await history.complete());
}

async function playSpot(history: History): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await interrupt(history);
    await history.pass(MAX_PAUSE_MS + history.number(MAX_PAUSE_MS));
  }
}

async function playRepair(history: History): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await failNodes(history);
    await history.pass(history.number(MAX_PAUSE_MS));
  }
}

export const SCENARIOS = {
  roll: { means: 'a change of the template replaces all machines', play: playRoll },
  scale: { means: 'each deployment grows by half, and then returns to its size', play: playScale },
  repair: { means: 'three nodes stop reporting for up to 41 minutes', play: playRepair },
  'zone-loss': { means: 'the machines of a zone are unreachable for 30 minutes', play: playZoneLoss },
  spot: { means: 'the cloud announces the end of VMs, with a notice of 2 minutes', play: playSpot },
  random: { means: 'six random changes and failures from the other scenarios', play: playRandom },
} as const satisfies Readonly<Record<string, Scenario>>;

export type ScenarioName = keyof typeof SCENARIOS;
