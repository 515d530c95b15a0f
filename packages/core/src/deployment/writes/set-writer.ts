import { EventReasons, type MachineDeployment, type MachineSet, machineSets } from '@mcm/api';
import {
  controllerOf,
  type Draft,
  ignoreNotFound,
  isAlreadyExists,
  isForbidden,
  isNotFound,
  type ResourceClient,
} from '@mcm/kube';
import type { ControllerContext } from '../../control/caches.ts';
import { mayHaveHappened, settled } from '../../flow/answers.ts';
import { inParallel } from '../../flow/slow-start.ts';
import { sameTemplate } from '../../rollout/template-hash.ts';

export type SetCreation =
  | { readonly kind: 'created'; readonly set: MachineSet }
  /** A set with the name exists, but the set has another template or owner. */
  | { readonly kind: 'collision' }
  | { readonly kind: 'failed'; readonly error: unknown; readonly namespaceTerminating: boolean };

const PARALLEL = 16;

const isNamespaceTerminating = (error: unknown): boolean =>
  isForbidden(error) && (error.status.details?.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating');

export class SetWriter {
  readonly #context: ControllerContext;
  readonly #client: ResourceClient<MachineSet>;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#client = context.client.resource(machineSets, context.namespace);
  }

  /**
   * Creates a set, or finds the set that an earlier attempt created.
   * @throws KubeError if the server does not respond and the set does not exist
   */
  async create(deployment: MachineDeployment, draft: Draft<MachineSet>, signal: AbortSignal): Promise<SetCreation> {
    try {
      return this.#made(await this.#client.create(draft, { signal }));
    } catch (error) {
      if (isAlreadyExists(error)) return this.#existing(deployment, draft, signal);
      if (mayHaveHappened(error)) {
        // The API server may have executed a request even if its response is an error.
        const found = await this.#lookAfter(draft.metadata.name ?? '', error, signal);
        if (found !== undefined && this.#isUsable(deployment, found)) return { kind: 'created', set: found };
        throw error;
      }
      this.#context.recorder.event(deployment, 'Warning', EventReasons.MachineSetCreateError, messageOf(error));
      return { kind: 'failed', error, namespaceTerminating: isNamespaceTerminating(error) };
    }
  }

  async #existing(deployment: MachineDeployment, draft: Draft<MachineSet>, signal: AbortSignal): Promise<SetCreation> {
    // An outdated cache could lead to a duplicate set with additional machines, so mcm reads the set from the API
    // server.
    const existing = await this.#client.get(draft.metadata.name ?? '', { signal });
    return this.#isUsable(deployment, existing) ? this.#made(existing) : { kind: 'collision' };
  }

  #isUsable(deployment: MachineDeployment, set: MachineSet): boolean {
    const ours = controllerOf(set)?.uid === deployment.metadata.uid;
    return ours && sameTemplate(set.spec.template, deployment.spec.template);
  }

  #made(set: MachineSet): SetCreation {
    this.#context.sets.recordWrite(set);
    return { kind: 'created', set };
  }

  async update(set: MachineSet, signal: AbortSignal): Promise<MachineSet> {
    try {
      const written = await this.#client.update(set, { signal });
      this.#context.sets.recordWrite(written);
      this.#context.disruptions.settled(set.metadata.uid);
      return written;
    } catch (error) {
      const found = await this.#lookAfter(set.metadata.name, error, signal);
      if (found || !mayHaveHappened(error)) this.#context.disruptions.settled(set.metadata.uid);
      throw error;
    }
  }

  /**
   * Reads the set after a write without a response, so that the next decision uses the actual size. With an outdated
   * smaller size, a set could create too many machines.
   */
  async #lookAfter(name: string, error: unknown, signal: AbortSignal): Promise<MachineSet | undefined> {
    if (!mayHaveHappened(error)) return undefined;
    const found = await settled(this.#client.get(name, { signal }));
    if (found !== undefined) this.#context.sets.recordWrite(found);
    return found;
  }

  async settle(set: MachineSet, signal: AbortSignal): Promise<void> {
    const found = await ignoreNotFound(this.#client.get(set.metadata.name, { signal }));
    if (found) this.#context.sets.recordWrite(found);
    this.#context.disruptions.settled(set.metadata.uid);
  }

  async patch(set: MachineSet, body: object, signal: AbortSignal): Promise<void> {
    const written = await this.#client.patch(set.metadata.name, { type: 'merge', body }, { signal });
    this.#context.sets.recordWrite(written);
  }

  /** Deletes all sets with their observed versions as preconditions, and then throws the first error. */
  async delete(sets: readonly MachineSet[], signal: AbortSignal): Promise<void> {
    const alive = sets.filter((set) => set.metadata.deletionTimestamp === undefined);
    const errors = await inParallel(alive, PARALLEL, async ({ metadata: { name, uid, resourceVersion = '' } }) => {
      const lingering = await this.#client.delete(name, { preconditions: { uid, resourceVersion }, signal });
      if (lingering !== undefined) this.#context.sets.recordWrite(lingering);
    });
    const failure = errors.find((error) => !isNotFound(error));
    if (failure !== undefined) throw failure;
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
