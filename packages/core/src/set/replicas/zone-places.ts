import type { Machine, MachineSet } from '@mcm/api';
import { BY_CONTROLLER, type ControllerContext, deploymentOf } from '../../control/caches.ts';
import { type Zone, zoneSettingOf } from '../../zones/setting.ts';
import { placesFor, type ZoneInput, type ZoneRank, zoneRanks, zoneStates } from '../../zones/spread.ts';
import { deletionOrder } from './deletion-order.ts';

/** Counts the machines of all sets of a deployment to choose the zones of new machines. */
export class ZonePlaces {
  readonly #context: ControllerContext;

  constructor(context: ControllerContext) {
    this.#context = context;
  }

  #inputOf(set: MachineSet): (ZoneInput & { readonly wanted: number }) | undefined {
    const { sets, machines, disruptions, nodes } = this.#context;
    const deployment = deploymentOf(set, this.#context);
    const setting = zoneSettingOf(deployment);
    if (deployment === undefined || setting === undefined) return undefined;
    const siblings = sets.store.byIndex(BY_CONTROLLER, deployment.metadata.uid);
    return {
      wanted: deployment.spec.replicas ?? 0,
      setting,
      machines: siblings.flatMap(({ metadata: { uid } }) => machines.store.byIndex(BY_CONTROLLER, uid)),
      isLeaving: disruptions.isLeaving,
      nodeOf: (name) => nodes?.informer.store.get(name),
    };
  }

  places(set: MachineSet, count: number): readonly Zone[] | undefined {
    const input = this.#inputOf(set);
    return input && placesFor(zoneStates(input), count);
  }

  ranks(
    set: MachineSet,
    alive: readonly Machine[],
    now: Date,
    isPostponed: (machine: Machine) => boolean,
  ): ReadonlyMap<string, ZoneRank> | undefined {
    // Only a set with too many machines needs an order.
    const { replicas = 0 } = set.spec;
    if (alive.length <= replicas) return undefined;
    const input = this.#inputOf(set);
    const ordered = alive.toSorted(deletionOrder(now, isPostponed));
    return input && zoneRanks(input, zoneStates(input), ordered, { replicas, wanted: input.wanted });
  }
}
