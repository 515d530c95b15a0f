import { Annotations, InPlaceUpdateReasons, Labels, NodeConditions, UpdateResults } from '@mcm/api';
import { type Informer, isConflict, isNotFound, type KubeClient, type Node, nodes } from '@mcm/kube';
import type { KubeletBehaviour } from '../../machine/behaviour.ts';
import type { Life } from '../node/life.ts';

export interface UpdateAgentOptions {
  readonly client: KubeClient;
  readonly life: Life;
  readonly nodeName: string;
  /** The shared copy of the nodes that were selected for an update. */
  readonly selected: () => Informer<Node>;
  readonly behaviour: () => KubeletBehaviour;
  readonly paused: () => boolean;
  /** Writes to the machine's serial console. */
  readonly console: (line: string) => void;
  readonly outage: { failed(error: unknown): void; worked(): void };
}

/** Time from the request of an update to its result, by default. */
const UPDATE_MS = 1_000;
const RETRY_MS = 2_000;
const FAILURE = 'requested by the local cloud API';

const { Successful, Failed } = UpdateResults;

/** The result that a node's agent has to report and has not reported; undefined: nothing to do. */
function dueResult(node: Node | undefined, behaviour: KubeletBehaviour): string | undefined {
  const { update = 'succeed' } = behaviour;
  if (!node || update === 'hang') return undefined;
  const reason = node.status?.conditions?.find(({ type }) => type === NodeConditions.InPlaceUpdate)?.reason;
  const wanted = update === 'fail' ? Failed : Successful;
  const said = node.metadata.labels?.[Labels.UpdateResult];
  if (node.metadata.labels?.[Labels.SelectedForUpdate] === undefined || said === wanted) return undefined;
  // A machine that could not be updated is tried again when its agent has learnt how.
  const again = said === Failed && wanted === Successful;
  const { ReadyForUpdate, UpdateFailed } = InPlaceUpdateReasons;
  if (reason === ReadyForUpdate && (said === undefined || again)) return wanted;
  return reason === UpdateFailed && again ? wanted : undefined;
}

/**
 * Simulates the agent that updates a machine's software in place. The node's condition starts it, and after a while it labels
 * the node with the result. It keeps no state: after a restart it starts again, like an agent on a node.
 */
export class UpdateAgent {
  readonly #options: UpdateAgentOptions;
  #working = false;

  constructor(options: UpdateAgentOptions) {
    this.#options = options;
  }

  /** The node or the settings of the agent changed. */
  consider(): void {
    const { life, console, behaviour } = this.#options;
    if (this.#working || this.#due() === undefined) return;
    this.#working = true;
    console('update agent: updating in place');
    life.after(behaviour().updateDelay ?? UPDATE_MS, () => this.#finish());
  }

  #due(): string | undefined {
    const { selected, nodeName, behaviour, paused } = this.#options;
    return paused() ? undefined : dueResult(selected().store.get(nodeName), behaviour());
  }

  #finish(): void {
    const { life, selected, nodeName } = this.#options;
    const result = this.#due();
    const node = selected().store.get(nodeName);
    if (result === undefined || !node) {
      this.#working = false;
      return;
    }
    life.run(async () => {
      const wait = await this.#report(node, result);
      this.#working = false;
      if (wait > 0) life.after(wait, () => this.consider());
      else this.consider();
    });
  }

  /** Yields 0, or the time until another try. */
  async #report(node: Node, result: string): Promise<number> {
    const { client, life, behaviour, console, outage } = this.#options;
    const why = result === Failed ? (behaviour().updateFailure ?? FAILURE) : null;
    const body = {
      metadata: {
        uid: node.metadata.uid,
        labels: { [Labels.UpdateResult]: result },
        annotations: { [Annotations.UpdateFailedReason]: why },
      },
    };
    try {
      const written = await client
        .resource(nodes)
        .patch(node.metadata.name, { type: 'merge', body }, { signal: life.signal });
      this.#options.selected().recordWrite(written);
      console(`update agent: ${result}${why === null ? '' : `: ${why}`}`);
      outage.worked();
      return 0;
    } catch (error) {
      // The node was deleted or replaced, so its own agent is responsible.
      if (isNotFound(error) || isConflict(error)) return 0;
      if (!life.over) outage.failed(error);
      return RETRY_MS;
    }
  }
}
