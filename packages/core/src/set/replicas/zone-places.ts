import type { Machine, MachineSet } from '@mcm/api';
import { BY_CONTROLLER, type ControllerContext, deploymentOf } from '../../control/caches.ts';
import { splitSets } from '../../rollout/revisions.ts';
import { type Place, placesFor } from '../../zones/places.ts';
import { type ZoneRank, zoneRanks } from '../../zones/ranks.ts';
import { zoneSettingOf } from '../../zones/setting.ts';
import { machinesByZone, machinesToReplace, type ZoneInput, zoneStates } from '../../zones/spread.ts';
import { deletionOrder } from './deletion-order.ts';

const MOST_DEPLOYMENTS = 1_000;

/** The zones of a deployment, for a decision about one of its sets. */
interface DeploymentZones extends ZoneInput {
  readonly uid: string;
  readonly wanted: number;
  readonly isCurrent: boolean;
}

/** Chooses zones for the sets of deployments with zones, and counts the machines of all sets of a deployment. */
export class ZonePlaces {
  readonly #context: ControllerContext;
  /**
   * For each deployment, the number of machines in each zone before the last deletions. A rollout without surge deletes
   * a machine before it creates the replacement in the zone of the deleted machine.
   */
  readonly #before = new Map<string, ReadonlyMap<string, number>>();

  constructor(context: ControllerContext) {
    this.#context = context;
  }

  #inputOf(set: MachineSet): DeploymentZones | undefined {
    const { sets, machines, disruptions, nodes } = this.#context;
    const deployment = deploymentOf(set, this.#context);
    const setting = zoneSettingOf(deployment);
    if (deployment === undefined || setting === undefined) return undefined;
    const siblings = sets.store.byIndex(BY_CONTROLLER, deployment.metadata.uid);
    const { current } = splitSets(deployment, siblings);
    const all = siblings.flatMap(({ metadata: { uid } }) => machines.store.byIndex(BY_CONTROLLER, uid));
    return {
      uid: deployment.metadata.uid,
      wanted: deployment.spec.replicas ?? 0,
      isCurrent: current?.metadata.uid === set.metadata.uid,
      setting,
      machines: all,
      isLeaving: disruptions.isLeaving,
      nodeOf: (name) => nodes?.informer.store.get(name),
      isOld: machinesToReplace(deployment, current, all),
    };
  }

  /** Returns the zones for new machines, or undefined if the deployment has no zones. */
  places(set: MachineSet, count: number, lost: readonly string[]): readonly Place[] | undefined {
    const input = this.#inputOf(set);
    if (!input) return undefined;
    const { uid, wanted, isCurrent, isOld } = input;
    return placesFor(zoneStates(input), {
      count,
      wanted,
      lost,
      isOld: isCurrent ? isOld : undefined,
      before: this.#before.get(uid),
    });
  }

  ranks(
    set: MachineSet,
    alive: readonly Machine[],
    now: Date,
    isPostponed: (machine: Machine) => boolean,
  ): ReadonlyMap<string, ZoneRank> | undefined {
    const { replicas = 0 } = set.spec;
    if (alive.length <= replicas) return undefined;
    const input = this.#inputOf(set);
    if (!input) return undefined;
    const states = zoneStates(input);
    if (this.#before.size > MOST_DEPLOYMENTS) this.#before.clear();
    this.#before.set(input.uid, machinesByZone(states));
    const ordered = alive.toSorted(deletionOrder(now, isPostponed));
    return zoneRanks(input, states, ordered, { replicas, wanted: input.wanted });
  }
}
