import { parseJson, stringifyJson } from '../apimachinery/objects/json.ts';
import { apiVersionOf, type KindDefinition, resourceId } from '../apimachinery/objects/kind.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { renderObject } from '../apimachinery/objects/object-text.ts';
import { type CompiledSchema, compileSchema } from '../schema/index.ts';
import type { StoredRecord } from '../store/record.ts';

export class ServedKind {
  readonly kind: KindDefinition;
  readonly apiVersion: string;
  readonly resource: string;
  #schema: CompiledSchema | undefined;
  #hasRules: boolean | undefined;

  /**
   * The revision of the CRD. When the server reads an object from an earlier revision, it prunes the object and adds
   * defaults.
   */
  readonly #since: number;
  readonly #stored: ServedKind | undefined;

  constructor(kind: KindDefinition, since = 0) {
    this.kind = kind;
    this.#since = since;
    this.#stored = kind.stored === undefined ? undefined : new ServedKind(kind.stored);
    this.apiVersion = apiVersionOf(kind);
    this.resource = kind.storedAs?.resource ?? resourceId(kind);
  }

  /** The getter compiles the schema at the first use, because clients never use most kinds. */
  get schema(): CompiledSchema | undefined {
    if (this.kind.schema === undefined) return undefined;
    this.#schema ??= compileSchema(this.kind.schema, { celRules: true });
    return this.#schema;
  }

  get hasRules(): boolean {
    this.#hasRules ??= stringifyJson(this.kind.schema ?? {}).includes('"x-kubernetes-validations"');
    return this.#hasRules;
  }

  get plainSchema(): CompiledSchema | undefined {
    return this.kind.schema === undefined ? undefined : compileSchema(this.kind.schema, { celRules: false });
  }

  /** Returns the text of an object for responses in this version. */
  textOf(record: StoredRecord, subresource = ''): string {
    const text = this.storedTextOf(record);
    return subresource === '' ? (this.kind.shownAs?.(text) ?? text) : text;
  }

  /**
   * Returns the stored text of an object in this version. With the conversion strategy `None`, only the apiVersion
   * changes.
   */
  storedTextOf(record: StoredRecord): string {
    const decode = this.kind.storedAs?.decode;
    if (decode !== undefined) return stringifyJson(decode(parseJson(record.json) as ApiObject));
    if (record.revision < this.#since) return this.#renew(record);
    const start = `{"apiVersion":"${this.apiVersion}",`;
    if (record.json.startsWith(start)) return record.json;
    if (this.#stored !== undefined) return this.#renew(record);
    return `${start}${record.json.slice(record.json.indexOf('"kind":'))}`;
  }

  #renew(record: StoredRecord): string {
    const object = parseJson(record.json) as ApiObject;
    const stored = this.#stored ?? this;
    stored.schema?.prune(object);
    stored.schema?.setDefaults(object);
    object.apiVersion = this.apiVersion;
    if (stored !== this) this.schema?.prune(object);
    return renderObject(object, undefined);
  }
}

export interface ServedGroup {
  readonly name: string;
  readonly versions: readonly string[];
}

function compareVersions(a: string, b: string): number {
  const rank = (version: string): [number, number, number] => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
    if (match === null) return [-1, 0, 0];
    const stage = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0;
    return [stage, Number(match[1]), Number(match[3] ?? 0)];
  };
  const [left, right] = [rank(a), rank(b)];
  for (const index of [0, 1, 2] as const) if (left[index] !== right[index]) return right[index] - left[index];
  return a < b ? -1 : a > b ? 1 : 0;
}

export type KindListener = (touched: ReadonlySet<KindDefinition>) => void;

/** The kinds that the server serves. Each created, changed or deleted CRD changes the custom kinds. */
export class KindRegistry {
  readonly #served = new Map<string, ServedKind>();
  readonly #byKind = new Map<string, ServedKind>();
  readonly #byVersion = new Map<string, Map<string, ServedKind>>();
  readonly #byResource = new Map<string, ServedKind[]>();
  /** The number of kinds in each version of each API group. */
  readonly #byGroup = new Map<string, Map<string, number>>();
  readonly #builtinGroups: ReadonlySet<string>;
  readonly #custom = new Map<string, readonly ServedKind[]>();
  readonly #listeners = new Set<KindListener>();
  readonly #sorted = new Map<string, ServedGroup>();
  #groups: readonly ServedGroup[] | undefined;

  constructor(builtin: readonly KindDefinition[]) {
    for (const kind of builtin) this.#add(new ServedKind(kind));
    this.#builtinGroups = new Set(builtin.map(({ group }) => group));
  }

  find(group: string, version: string, plural: string): ServedKind | undefined {
    return this.#served.get(`${group}/${version}/${plural}`);
  }

  /** Finds a kind by its apiVersion and name, as in an owner reference. */
  byKind(apiVersion: string, kind: string): ServedKind | undefined {
    return this.#byKind.get(`${apiVersion}/${kind}`);
  }

  all(): readonly ServedKind[] {
    return [...this.#served.values()];
  }

  of(group: string, version: string): readonly ServedKind[] {
    return [...(this.#byVersion.get(`${group}/${version}`)?.values() ?? [])];
  }

  hasGroupVersion(group: string, version: string): boolean {
    return this.#byVersion.has(`${group}/${version}`);
  }

  isBuiltin(group: string): boolean {
    return this.#builtinGroups.has(group);
  }

  versionsOf(group: string, plural: string): readonly ServedKind[] {
    return this.#byResource.get(`${group}/${plural}`) ?? [];
  }

  group(name: string): ServedGroup | undefined {
    const versions = this.#byGroup.get(name);
    if (versions === undefined) return undefined;
    let group = this.#sorted.get(name);
    if (group === undefined) {
      group = { name, versions: [...versions.keys()].sort(compareVersions) };
      this.#sorted.set(name, group);
    }
    return group;
  }

  groups(): readonly ServedGroup[] {
    if (this.#groups === undefined) {
      const names = [...this.#byGroup.keys()];
      const custom = names.filter((name) => !this.#builtinGroups.has(name)).sort();
      const ordered = [...names.filter((name) => this.#builtinGroups.has(name)), ...custom];
      this.#groups = ordered.map((name) => this.group(name)).filter((group) => group !== undefined);
    }
    return this.#groups;
  }

  /**
   * Replaces the kinds of a CRD.
   * @param since the revision of the CRD.
   */
  setCustom(crdName: string, kinds: readonly KindDefinition[], since = 0): void {
    const before = this.#custom.get(crdName) ?? [];
    for (const served of before) this.#remove(served);
    const served = kinds.map((kind) => new ServedKind(kind, since));
    if (served.length === 0) this.#custom.delete(crdName);
    else this.#custom.set(crdName, served);
    for (const one of served) this.#add(one);
    const touched = new Set([...before, ...served].map(({ kind }) => kind));
    for (const listener of [...this.#listeners]) listener(touched);
  }

  /** Returns a function that removes the listener. */
  onChange(listener: KindListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #add(served: ServedKind): void {
    const { kind, apiVersion } = served;
    this.#served.set(keyOf(kind), served);
    // If several kinds have the same name, the first kind is used.
    const named = `${apiVersion}/${kind.kind}`;
    if (!this.#byKind.has(named)) this.#byKind.set(named, served);
    const place = `${kind.group}/${kind.version}`;
    const near = this.#byVersion.get(place) ?? new Map<string, ServedKind>();
    this.#byVersion.set(place, near.set(kind.plural, served));
    const resource = `${kind.group}/${kind.plural}`;
    this.#byResource.set(resource, [...(this.#byResource.get(resource) ?? []), served]);
    const versions = this.#byGroup.get(kind.group) ?? new Map<string, number>();
    this.#byGroup.set(kind.group, versions);
    const kinds = versions.get(kind.version) ?? 0;
    versions.set(kind.version, kinds + 1);
    if (kinds === 0) this.#regroup(kind.group);
  }

  #regroup(group: string): void {
    this.#sorted.delete(group);
    this.#groups = undefined;
  }

  #leaveGroup({ group, version }: KindDefinition): void {
    const versions = this.#byGroup.get(group);
    const left = (versions?.get(version) ?? 1) - 1;
    if (left > 0) versions?.set(version, left);
    else {
      versions?.delete(version);
      if (versions?.size === 0) this.#byGroup.delete(group);
      this.#regroup(group);
    }
  }

  #remove(served: ServedKind): void {
    const { kind, apiVersion } = served;
    this.#served.delete(keyOf(kind));
    const resource = `${kind.group}/${kind.plural}`;
    const versions = (this.#byResource.get(resource) ?? []).filter((one) => one !== served);
    if (versions.length === 0) this.#byResource.delete(resource);
    else this.#byResource.set(resource, versions);
    this.#leaveGroup(kind);
    const place = `${kind.group}/${kind.version}`;
    const near = this.#byVersion.get(place);
    near?.delete(kind.plural);
    if (near?.size === 0) this.#byVersion.delete(place);
    const named = `${apiVersion}/${kind.kind}`;
    this.#byKind.delete(named);
    for (const other of near?.values() ?? []) if (other.kind.kind === kind.kind) this.#byKind.set(named, other);
  }
}

const keyOf = (kind: KindDefinition): string => `${kind.group}/${kind.version}/${kind.plural}`;
