import { Annotations, type MachineDeployment, type MachineSet } from '@mcm/api';
import {
  again,
  done,
  isConflict,
  isNotFound,
  isNotSent,
  nodes as nodeResource,
  type Outcome,
  soonest,
} from '@mcm/kube';
import { inParallel } from '../flow/slow-start.ts';
import { patchNode } from '../node/patch.ts';
import type { AutomaticPause } from '../rollout/rollout-gate.ts';
import type { planRollout } from './plan.ts';
import { type NodeMark, nodeMarks } from './state/node-marks.ts';
import type { Rollback } from './state/rollback.ts';
import type { RolloutPlan } from './state/step.ts';
import type { DeploymentAccess } from './writes/access.ts';
import { messageOf } from './writes/set-writer.ts';
import type { StatusWriter } from './writes/status-writer.ts';

/** mcm retries a failed write of the rollout marks on a node after this delay. */
const NODE_RETRY_MS = 5_000;
/**
 * The delay of the next write after a conflict on a Node. Within this time, the cache usually receives the write that
 * caused the conflict.
 */
const NODE_CHANGED_MS = 50;
const PARALLEL_NODES = 16;

/** Options of the deployment controller. */
export interface DeploymentOptions {
  readonly protectNodesDuringRollout: boolean;
  readonly readyCondition?: boolean | undefined;
  readonly decide?: typeof planRollout;
}

/** If the process crashes between two writes of a plan, the next reconcile continues the plan. */
export class PlanExecution {
  readonly #access: DeploymentAccess;
  readonly #status: StatusWriter;
  readonly #options: DeploymentOptions;
  /**
   * The last refused rollback of each deployment. The status reports this rollback until the generation of the
   * deployment changes.
   */
  readonly #refused = new Map<
    string,
    { readonly uid: string; readonly generation: number; readonly message: string }
  >();

  constructor(access: DeploymentAccess, status: StatusWriter, options: DeploymentOptions) {
    this.#access = access;
    this.#status = status;
    this.#options = options;
  }

  async carryOut(key: string, deployment: MachineDeployment, plan: RolloutPlan, signal: AbortSignal): Promise<Outcome> {
    const { recorder, log } = this.#access.context;
    if (plan.write.length > 0 || plan.create || plan.rollback) {
      const trace_id = this.#access.context.traceIdOf?.(deployment);
      log.info('Deployment step', { deployment: deployment.metadata.name, because: plan.because, trace_id });
    }
    if (plan.pause) return this.#pause(deployment, plan.pause, signal);
    const nodesLeft = await this.#markNodes(plan, signal);
    if (plan.rollback) {
      for (const set of plan.write) await this.#access.sets.update(set, signal);
      const written = await this.#access.client.update(plan.rollback.deployment, { signal });
      for (const event of plan.events) recorder.event(deployment, event.type, event.reason, event.message);
      this.#access.context.deployments.recordWrite(written);
      this.#noteRefusal(key, written, plan.rollback);
      return nodesLeft;
    }
    const revised = await this.#recordRevision(deployment, plan, signal);
    const creation = plan.create && (await this.#access.sets.create(revised, plan.create, signal));
    if (creation?.kind === 'collision') return this.#collide(revised, signal);
    const written = new Map<string, MachineSet>();
    for (const set of plan.write) written.set(set.metadata.uid, await this.#access.sets.update(set, signal));
    await this.#handOver(plan, signal);
    await this.#deselect(revised, plan.inPlace.leftovers ?? [], signal);
    if (creation?.kind !== 'failed') {
      for (const event of plan.events) recorder.event(revised, event.type, event.reason, event.message);
    }
    await this.#access.sets.delete(plan.remove, signal);
    for (const event of plan.problems.events) recorder.event(revised, event.type, event.reason, event.message);
    const outcome = await this.#status.write(key, revised, plan, { written, creation }, signal);
    if (creation?.kind === 'failed') throw creation.error;
    const opens =
      plan.lookAgainAt && again(Math.max(plan.lookAgainAt.getTime() - this.#access.context.clock.now().getTime(), 1));
    return opens ? soonest(soonest(outcome, nodesLeft), opens) : soonest(outcome, nodesLeft);
  }

  #noteRefusal(
    key: string,
    { metadata: { uid, generation = 0 } }: MachineDeployment,
    { target, event }: Rollback,
  ): void {
    if (target === undefined) this.#refused.set(key, { uid, generation, message: event.message });
    else this.#refused.delete(key);
  }

  refusedRollback(key: string, { metadata: { uid, generation = 0 } }: MachineDeployment): string | undefined {
    const refused = this.#refused.get(key);
    return refused?.uid === uid && refused.generation === generation ? refused.message : undefined;
  }

  forget(key: string): void {
    this.#refused.delete(key);
  }

  /**
   * One request writes both the pause and its reason. A crash between two requests could lose the reason, and mcm would
   * pause the rollout again after a user resumes it.
   * - If `undoTo` is set, the request writes `spec.rollbackTo`, as a user would.
   */
  async #pause(
    deployment: MachineDeployment,
    { note, message, undoTo }: AutomaticPause,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { name, uid, resourceVersion } = deployment.metadata;
    const precondition = { uid, resourceVersion };
    const body =
      undoTo === undefined
        ? {
            metadata: { ...precondition, annotations: { [Annotations.RolloutPausedBy]: note } },
            spec: { paused: true },
          }
        : { metadata: precondition, spec: { rollbackTo: { revision: undoTo } } };
    const written = await this.#access.client.patch(name, { type: 'merge', body }, { signal });
    this.#access.context.deployments.recordWrite(written);
    this.#access.context.recorder.event(
      deployment,
      'Warning',
      undoTo === undefined ? 'RolloutPaused' : 'RolloutUndone',
      message,
    );
    return again(0);
  }

  async #handOver({ inPlace }: RolloutPlan, signal: AbortSignal): Promise<void> {
    const { nodes } = this.#access.context;
    await this.#access.machines.patchAll(inPlace.machines, signal);
    if (nodes === undefined) return;
    const client = nodes.client.resource(nodeResource);
    const errors = await inParallel(inPlace.nodes, PARALLEL_NODES, async ({ node, change }) => {
      nodes.informer.recordWrite(await patchNode(client, node, change, { signal }));
    });
    const failure = errors.find((error) => !isNotFound(error));
    if (failure !== undefined) throw failure;
  }

  /**
   * Removes the selection for an update from nodes that have the current template. The cache may lack a new template or
   * a new selection by a user, so mcm reads the objects from the API server.
   */
  async #deselect(deployment: MachineDeployment, marks: readonly NodeMark[], signal: AbortSignal): Promise<void> {
    const { nodes, recorder } = this.#access.context;
    if (nodes === undefined || marks.length === 0) return;
    const { name, uid, generation } = deployment.metadata;
    const { metadata: live } = await this.#access.client.get(name, { signal });
    if (live.uid !== uid || live.generation !== generation) return;
    const client = nodes.client.resource(nodeResource);
    const errors = await inParallel(marks, PARALLEL_NODES, async ({ node, change }) => {
      nodes.informer.recordWrite(await patchNode(client, node, change, { signal }));
      const message = `Node ${node.metadata.name} already has the current template, so mcm removed its update selection. Select only candidate Nodes.`;
      recorder.event(deployment, 'Normal', 'SelectionTakenOff', message);
    });
    const failure = errors.find((error) => !isNotFound(error));
    if (failure !== undefined) throw failure;
  }

  async #recordRevision(
    deployment: MachineDeployment,
    plan: RolloutPlan,
    signal: AbortSignal,
  ): Promise<MachineDeployment> {
    const revision = String(plan.revision ?? '');
    const stale = plan.revision && deployment.metadata.annotations?.[Annotations.Revision] !== revision;
    const isSame =
      plan.lastGood === undefined &&
      plan.standby === undefined &&
      plan.short === undefined &&
      plan.podsSeen === undefined;
    if (!stale && !plan.forgetPause && isSame) return deployment;
    const annotations = {
      [Annotations.Revision]: stale ? revision : undefined,
      [Annotations.RolloutPausedBy]: plan.forgetPause ? null : undefined,
      [Annotations.RolloutLastGood]: plan.lastGood,
      [Annotations.ZonesStandby]: plan.standby,
      [Annotations.ZonesShort]: plan.short,
      [Annotations.RolloutCanaryPodsSeen]: plan.podsSeen,
    };
    return this.#access.patch(deployment, { annotations }, signal);
  }

  /**
   * Handles an existing set that has the name of the new set, but another template or owner
   * (docs/compatibility/rules-deployments.md §2.7).
   */
  async #collide(deployment: MachineDeployment, signal: AbortSignal): Promise<Outcome> {
    const collisionCount = (deployment.status?.collisionCount ?? 0) + 1;
    this.#access.context.log.warn('The name of the new MachineSet is in use; using another name', {
      deployment: deployment.metadata.name,
      collisionCount,
    });
    await this.#access.putStatus(deployment, { ...deployment.status, collisionCount }, signal);
    return again(1);
  }

  async #markNodes(plan: RolloutPlan, signal: AbortSignal): Promise<Outcome> {
    const { nodes, log } = this.#access.context;
    if (nodes === undefined || nodes.informer.refused !== undefined) return done;
    const { store } = nodes.informer;
    const marks = nodeMarks(
      plan.nodes,
      (set) => this.#access.machinesOf(set),
      (name) => store.get(name),
      {
        protection: this.#options.protectNodesDuringRollout,
      },
    );
    const client = nodes.client.resource(nodeResource);
    const errors = await inParallel(marks, PARALLEL_NODES, async ({ node, change }) => {
      nodes.informer.recordWrite(await patchNode(client, node, change, { signal }));
    });
    const failures = errors.filter((error) => !isNotFound(error) && !isConflict(error));
    if (failures.length === 0) return errors.some(isConflict) ? again(NODE_CHANGED_MS) : done;
    const level = failures.every(isNotSent) ? 'debug' : 'warn';
    log[level]('Cannot mark Nodes for the rollout; retrying', {
      nodes: failures.length,
      error: messageOf(failures[0]),
    });
    return again(NODE_RETRY_MS);
  }
}
