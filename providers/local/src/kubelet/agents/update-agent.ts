import { Annotations, InPlaceUpdateReasons, Labels, NodeConditions, UpdateResults } from '@mcm/api';
import { type Informer, isConflict, isNotFound, type KubeClient, type Node, nodes } from '@mcm/kube';
import type { KubeletBehaviour } from '../../machine/behaviour.ts';
import type { Life } from '../node/life.ts';

export interface UpdateAgentOptions {
  readonly client: KubeClient;
  readonly life: Life;
  readonly nodeName: string;
  readonly selected: () => Informer<Node>;
  readonly behaviour: () => KubeletBehaviour;
  readonly paused: () => boolean;
  readonly console: (line: string) => void;
  readonly outage: { failed(error: unknown): void; worked(): void };
}

const UPDATE_MS = 1_000;
const RETRY_MS = 2_000;
const FAILURE = 'requested by the local cloud API';

const { Successful, Failed } = UpdateResults;

/** Returns the update result that the agent of a node must report now, or undefined if there is nothing to report. */
function dueResult(node: Node | undefined, behaviour: KubeletBehaviour): string | undefined {
  const { update = 'succeed' } = behaviour;
  if (!node || update === 'hang') return undefined;
  const reason = node.status?.conditions?.find(({ type }) => type === NodeConditions.InPlaceUpdate)?.reason;
  const wanted = update === 'fail' ? Failed : Successful;
  const said = node.metadata.labels?.[Labels.UpdateResult];
  if (node.metadata.labels?.[Labels.SelectedForUpdate] === undefined || said === wanted) return undefined;
  // If the simulated result was a failure and the user has changed it to success, the agent repeats the update.
  const again = said === Failed && wanted === Successful;
  const { ReadyForUpdate, UpdateFailed } = InPlaceUpdateReasons;
  if (reason === ReadyForUpdate && (said === undefined || again)) return wanted;
  return reason === UpdateFailed && again ? wanted : undefined;
}

/**
 * Simulates the agent that updates the software of a machine in place. After a restart, the agent reads the Node again,
 * because it stores nothing.
 */
export class UpdateAgent {
  readonly #options: UpdateAgentOptions;
  #working = false;

  constructor(options: UpdateAgentOptions) {
    this.#options = options;
  }

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

  /** Writes the result to the Node. */
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
      // If the Node was deleted or replaced, the agent has nothing to report.
      if (isNotFound(error) || isConflict(error)) return 0;
      if (!life.over) outage.failed(error);
      return RETRY_MS;
    }
  }
}
