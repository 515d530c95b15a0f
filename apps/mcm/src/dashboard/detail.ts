import { type MachineDeployment, machineClasses, machineDeployments, machineSets, machines } from '@mcm/api';
import type { DeploymentDetail, MachineDetail } from '@mcm/dashboard';
import {
  type Clock,
  controllerOf,
  isNotFound,
  type KubeClient,
  KubeError,
  type KubeObject,
  nodes,
  type Random,
  type ResourceDefinition,
} from '@mcm/kube';
import { machineConfigPools } from '@mcm/machine-config';
import { stringify } from 'yaml';
import type { FullReading } from '../cluster/deployment-reading.ts';
import { UserError } from '../command/errors.ts';
import { explainDeployment, type Watched } from '../explain/deployment/deployment.ts';
import { deploymentLines } from '../explain/deployment/deployment-lines.ts';
import { explainMachine } from '../explain/machine/machine.ts';
import { machineLines } from '../explain/machine/machine-lines.ts';
import type { Board } from './board/board.ts';
import type { Controllers } from './board/controllers.ts';
import type { Sources } from './board/sources.ts';
import { visible } from './rows/text.ts';
import type { Settings } from './settings.ts';

const MOST_LIVES = 200;
const MOST_EVENTS = 100;

export interface Details {
  machine(ns: string, name: string, signal: AbortSignal): Promise<MachineDetail>;
  deployment(ns: string, name: string): DeploymentDetail;
  /** If the object does not exist, or its kind has no page, `yaml` returns undefined. */
  yaml(kind: string, ns: string, name: string, signal: AbortSignal): Promise<string | undefined>;
}

export interface DetailOptions {
  readonly client: KubeClient;
  readonly target: KubeClient;
  readonly fleet: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly board: Board;
  readonly sources: Sources;
  readonly settings: () => Settings;
  readonly controllers: Controllers;
}

/** The kinds that have a YAML page. Secrets must not have one. */
const KINDS: Readonly<Record<string, { readonly of: ResourceDefinition<KubeObject>; readonly onTarget?: true }>> = {
  machine: { of: machines },
  machineset: { of: machineSets },
  machinedeployment: { of: machineDeployments },
  machineclass: { of: machineClasses },
  node: { of: nodes, onTarget: true },
  machineconfigpool: { of: machineConfigPools, onTarget: true },
} as never;

export function createDetails(options: DetailOptions): Details {
  const { client, target, clock, board, sources } = options;
  return {
    machine: (ns, name, signal) => machineDetail(options, ns, name, signal),
    deployment: (ns, name) => {
      const key = `${ns}/${name}`;
      const deployment = sources.deployments.store.get(key);
      const reported = deployment && explained(options, deployment);
      return {
        row: board.deployment(key),
        samples: board.samples.get(key)?.all ?? [],
        lives: board.lives.ofDeployment(ns, name, MOST_LIVES),
        explain: reported ? deploymentLines(reported, clock.now()).map(visible) : ['The deployment does not exist.'],
        hints: reported?.hints.map(visible) ?? [],
        next: visible(reported?.next ?? ''),
        events: board
          .eventsOf((kind, of, called) => kind === 'MachineDeployment' && of === ns && called === name)
          .slice(0, MOST_EVENTS),
      };
    },
    async yaml(kind, ns, name, signal) {
      const known = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
      if (known === undefined) return undefined;
      const from = known.onTarget ? target.resource(known.of) : client.resource(known.of, ns);
      try {
        const object = await from.get(name, { signal });
        const { managedFields: _, ...metadata } = object.metadata as KubeObject['metadata'] & {
          managedFields?: unknown;
        };
        return visible(stringify({ ...object, metadata }));
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
  };
}

/** Returns the output of `mcm explain` for a machine, or the reason why the output is missing. */
async function explainedMachine(
  { client, target, fleet, clock, random, controllers }: DetailOptions,
  ns: string,
  name: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (fleet !== undefined)
    return [
      'The dashboard of a fleet does not read the nodes of its clusters. Run:',
      `mcm explain ${ns}/machine/${name}`,
    ];
  const asked = { client, target, namespace: ns, name, clock, random, signal, controllers: controllers.of(ns) };
  try {
    return machineLines(await explainMachine(asked), clock.now());
  } catch (error) {
    if (!(error instanceof UserError || error instanceof KubeError)) throw error;
    return [error.message];
  }
}

async function machineDetail(
  options: DetailOptions,
  ns: string,
  name: string,
  signal: AbortSignal,
): Promise<MachineDetail> {
  const { board, sources } = options;
  const key = `${ns}/${name}`;
  const machine = sources.machines.store.get(key);
  const known = board.lives.get(key);
  const explain = await explainedMachine(options, ns, name, signal);
  return {
    row: board.machine(key) ?? known?.row,
    exists: machine !== undefined,
    life: known?.life,
    drain: known?.drain ?? [],
    explain: explain.map(visible),
    providerID: visible(machine?.spec.providerID ?? known?.vm ?? ''),
    successor: known?.successor ?? '',
    predecessor: known?.predecessor ?? '',
    events: board
      .eventsOf((kind, of, called) => kind === 'Machine' && of === ns && called === name)
      .slice(0, MOST_EVENTS),
  };
}

function explained({ sources, settings, clock, controllers }: DetailOptions, deployment: MachineDeployment) {
  const { uid, namespace } = deployment.metadata;
  const inNamespace = <T extends KubeObject>(all: readonly T[]): readonly T[] =>
    all.filter(({ metadata }) => metadata.namespace === namespace);
  const sets = inNamespace(sources.sets.store.list()).filter((set) => controllerOf(set)?.uid === uid);
  const reading: FullReading & Watched = {
    controllers: controllers.of(namespace ?? ''),
    deployment,
    sets,
    machines: new Map(sets.map(({ metadata }) => [metadata.uid, sources.machinesOf(metadata.uid)])),
    fleet: inNamespace(sources.machines.store.list()),
    classes: inNamespace(sources.classes.store.list()),
    guards: sources.guards,
    nodeOf: sources.nodes.synced ? (name: string) => sources.nodes.store.get(name) : undefined,
    others: inNamespace(sources.deployments.store.list()).filter(({ metadata }) => metadata.uid !== uid),
  };
  const { manager, ofMachines } = settings();
  return explainDeployment(reading, clock.now(), undefined, manager, ofMachines);
}
