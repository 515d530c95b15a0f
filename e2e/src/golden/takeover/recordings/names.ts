import type { KubeObject } from '@mcm/kube';

const HASH = 'machine-template-hash';
const SUFFIX = /-[a-z0-9]{5}(?![a-z0-9-])/;

const ownerOf = (object: KubeObject, kind: string): string | undefined =>
  object.metadata.ownerReferences?.find((owner) => owner.kind === kind)?.name;
const quoted = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Replaces generated names with neutral names. */
export class Names {
  readonly #parts = new Map<string, string>();
  readonly #hashes = new Map<string, string>();
  readonly #pattern: RegExp | undefined;

  constructor(objects: Iterable<KubeObject>) {
    const all = [...new Map([...objects].map((object) => [object.metadata.uid, object])).values()];
    const sets = all.filter(({ kind }) => kind === 'MachineSet').sort((one, other) => bornAt(one) - bornAt(other));
    const count = new Map<string, number>();
    for (const set of sets) {
      const deployment = ownerOf(set, 'MachineDeployment');
      if (deployment === undefined) continue;
      const place = (count.get(deployment) ?? 0) + 1;
      count.set(deployment, place);
      this.#parts.set(set.metadata.name, `${deployment}-<set ${place}>`);
      const hash = set.metadata.labels?.[HASH];
      if (hash) this.#hashes.set(hash, `<hash of set ${place}>`);
    }
    for (const machine of all) if (machine.kind === 'Machine') this.#nameMachine(machine);
    const names = [...this.#parts.keys()].sort((one, other) => other.length - one.length).map(quoted);
    this.#pattern =
      names.length > 0
        ? new RegExp(`(?<![a-z0-9-])(${names.join('|')})(?![a-z0-9])(${SUFFIX.source})?`, 'g')
        : undefined;
  }

  #nameMachine({ metadata }: KubeObject): void {
    const prefix = metadata.name.replace(/-[^-]*$/, '');
    const set = this.#parts.get(prefix) ?? metadata.ownerReferences?.find(({ kind }) => kind === 'MachineSet')?.name;
    if (set === undefined) return;
    this.#parts.set(metadata.name, `${this.#parts.get(set) ?? set}-<machine>`);
    const node = metadata.labels?.node;
    if (node && !this.#parts.has(node)) this.#parts.set(node, `${this.#parts.get(set) ?? set}-<node>`);
  }

  part(name: string): string {
    return this.#parts.get(name) ?? name;
  }

  text(value: string): string {
    if (!this.#pattern) return value;
    return value.replace(
      this.#pattern,
      (_all, name: string, rest?: string) => this.part(name) + (rest ? '-<machine>' : ''),
    );
  }

  hash(value: string): string {
    return this.#hashes.get(value) ?? '<hash>';
  }
}

const bornAt = ({ metadata }: KubeObject): number => Date.parse(metadata.creationTimestamp) || 0;
