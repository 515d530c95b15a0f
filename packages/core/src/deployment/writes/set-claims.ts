import { Labels, type MachineDeployment, type MachineSet } from '@mcm/api';
import { ignoreNotFound } from '@mcm/kube';
import { BY_CONTROLLER, NO_CONTROLLER } from '../../control/caches.ts';
import { adoptionPatch, claim, releasePatch } from '../../objects/claim.ts';
import { compileSelector } from '../../objects/selector.ts';
import type { DeploymentAccess } from './access.ts';
import { nextHashStep } from './adopted-set.ts';

export class SetClaims {
  readonly #access: DeploymentAccess;

  constructor(access: DeploymentAccess) {
    this.#access = access;
  }

  /**
   * Returns the sets that the deployment controls after adoptions and releases.
   * @param alone true if no other deployment selects these sets; the deployment then adopts sets without a controller
   */
  async claim(deployment: MachineDeployment, alone: boolean, signal: AbortSignal): Promise<readonly MachineSet[]> {
    const matches = compileSelector(deployment.spec.selector);
    const orphans = alone ? this.#access.context.sets.store.byIndex(BY_CONTROLLER, NO_CONTROLLER) : [];
    const candidates = [...this.#access.setsOf(deployment), ...orphans];
    const { uid, name } = deployment.metadata;
    const { owned, adopt, release } = claim({ uid, deleting: false }, matches, candidates);
    if (adopt.length + release.length === 0) return owned;
    if (adopt.length > 0) {
      // The garbage collector would delete the sets that a deleted deployment adopted.
      const live = await this.#access.client.get(name, { signal });
      if (live.metadata.uid !== uid || live.metadata.deletionTimestamp !== undefined) {
        const wanted = adopt.map((set) => set.metadata.name).join(', ');
        throw new Error(`${name} does not exist or is being deleted, so mcm does not adopt ${wanted}`);
      }
    }
    for (const set of adopt) await ignoreNotFound(this.#access.sets.patch(set, adoptionPatch(deployment, set), signal));
    for (const set of release) await ignoreNotFound(this.#access.sets.patch(set, releasePatch(uid, set), signal));
    return this.#access.setsOf(deployment);
  }

  /** Returns true if the controller must reconcile the deployment again. */
  async labelAdopted(
    deployment: MachineDeployment,
    sets: readonly MachineSet[],
    signal: AbortSignal,
  ): Promise<boolean> {
    let stepped = false;
    for (const set of sets) {
      const step = nextHashStep(deployment, set, this.#access.machinesOf(set));
      if (step === undefined) continue;
      stepped = true;
      if (step.kind === 'writeSet') await this.#access.sets.update(step.set, signal);
      else {
        const body = { metadata: { labels: { [Labels.TemplateHash]: step.hash } } };
        await this.#access.machines.patchAll(
          step.machines.map((machine) => ({ machine, body })),
          signal,
        );
      }
    }
    return stepped;
  }
}
