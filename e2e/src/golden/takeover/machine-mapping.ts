import type { Machine } from '@mcm/api';
import { nodes } from '@mcm/kube';
import { updateReasonOf } from './actions.ts';
import { phaseOf } from './recordings/fields.ts';
import { Names } from './recordings/names.ts';
import { objectsIn } from './recordings/object-states.ts';
import type { Recorded } from './recordings/recording.ts';
import type { Stage } from './stage/stage.ts';

const AGENT_PATIENCE_MS = 30_000;
const AGENT_LOOKS_EVERY_MS = 500;

const quoted = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Assigns a machine of the replay to each recorded machine. */
export class MachineMapping {
  readonly #stage: Stage;
  readonly #recorded: ReadonlyMap<string, Recorded>;
  readonly #names: Names;
  readonly #loaded: ReadonlySet<string>;
  readonly #parts = new Map<string, string>();
  readonly #mentioned: RegExp;

  constructor(stage: Stage, recorded: readonly Recorded[], loaded: ReadonlySet<string>) {
    this.#stage = stage;
    const machines = recorded.filter(({ kind }) => kind === 'Machine');
    this.#recorded = new Map(machines.map((machine) => [machine.metadata.name, machine]));
    this.#names = new Names(recorded);
    this.#loaded = loaded;
    const all = [...this.#recorded.keys()].sort((one, other) => other.length - one.length).map(quoted);
    this.#mentioned = new RegExp(`(?<![a-z0-9-])(?:${all.join('|') || '(?!)'})(?![a-z0-9-])`, 'g');
  }

  /**
   * Resolves with the machine of the replay that corresponds to a recorded machine.
   * @throws Error if no machine matches.
   */
  async nameOf(recorded: string): Promise<string> {
    if (!this.#recorded.has(recorded)) return recorded;
    const known = this.#parts.get(recorded);
    const living = await this.#stage.machines();
    if (known && living.some(({ metadata }) => metadata.name === known)) return known;
    if (this.#loaded.has(recorded)) return recorded;
    const name = this.#choose(recorded, living)?.metadata.name;
    if (name === undefined) throw new Error(`no machine of this run corresponds to the recorded machine ${recorded}`);
    this.#parts.set(recorded, name);
    return name;
  }

  #choose(recorded: string, living: readonly Machine[]): Machine | undefined {
    const here = new Names(objectsIn(this.#stage.observer.lives));
    const taken = new Set(this.#parts.values());
    const part = this.#names.part(recorded);
    const free = living.filter(
      ({ metadata: { name, deletionTimestamp } }) =>
        !taken.has(name) && !this.#loaded.has(name) && deletionTimestamp === undefined && here.part(name) === part,
    );
    const model = this.#recorded.get(recorded);
    return free.find((machine) => model && phaseOf(machine) === phaseOf(model)) ?? free[0];
  }

  async rename<T>(object: T): Promise<T> {
    let text = JSON.stringify(object);
    for (const name of new Set(text.match(this.#mentioned) ?? []))
      text = text.replaceAll(new RegExp(`(?<![a-z0-9-])${quoted(name)}(?![a-z0-9-])`, 'g'), await this.nameOf(name));
    return JSON.parse(text) as T;
  }

  /** Waits until a node is selected, because the agent of the node acts only then. */
  async awaitAgent(recorded: string, reason: string): Promise<void> {
    for (let waited = 0; waited <= AGENT_PATIENCE_MS; waited += AGENT_LOOKS_EVERY_MS) {
      const own = this.#loaded.has(recorded) ? recorded : this.#parts.get(recorded);
      const { items } = await this.#stage.admin.resource(nodes).list();
      const ready = items.filter((node) => updateReasonOf(node) === reason);
      const node = ready.find(({ metadata }) => metadata.name === (this.#parts.get(recorded) ?? recorded)) ?? ready[0];
      if (node) {
        const { name } = node.metadata;
        const other = [...this.#parts].find(([, part]) => part === name)?.[0] ?? name;
        if (own !== undefined) this.#parts.set(other, own);
        this.#parts.set(recorded, name);
        return;
      }
      await this.#stage.clock.advance(AGENT_LOOKS_EVERY_MS);
    }
  }
}
