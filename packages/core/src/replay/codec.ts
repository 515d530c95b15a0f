import { Annotations, type MachineCode } from '@mcm/api';
import { isRecord, type KubeObject } from '@mcm/kube';
import { MachineError } from '../driver/contract/errors.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The error for a text that is not a valid record of a journal. */
export class BadRecord extends Error {
  override readonly name = 'BadRecord';
}

/** The maximum depth of values in a record. A malicious file with deeper values could exhaust the stack. */
const DEEPEST = 100;

/** Removes the annotation in which kubectl stores a copy of the object, because no decision reads this annotation. */
export function withoutCopy(annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { [Annotations.LastAppliedConfiguration]: _copy, ...kept } = annotations;
  return kept;
}

const isObject = (value: object): value is KubeObject =>
  'metadata' in value && 'kind' in value && isRecord(value.metadata) && typeof value.metadata.uid === 'string';

/** Removes parts of an object that no decision reads: managed fields and the provider spec. */
function relevant(object: KubeObject): object {
  const { managedFields: _fields, ...metadata }: KubeObject['metadata'] & { managedFields?: unknown } = object.metadata;
  const { providerSpec: _spec, ...rest }: KubeObject & { providerSpec?: unknown } = object;
  return { ...rest, metadata };
}

/** Converts values to JSON. A table contains each Kubernetes object once, and all records refer to the table. */
export class Encoder {
  readonly #numbers = new Map<object, number>();
  readonly #fresh: object[] = [];

  takeObjects(): readonly { readonly number: number; readonly object: Json }[] {
    const taken: { number: number; object: Json }[] = [];
    for (let object = this.#fresh.shift(); object !== undefined; object = this.#fresh.shift()) {
      const number = this.#numbers.get(object) ?? 0;
      const fields = Object.entries(isObject(object) ? relevant(object) : object);
      taken.push({ number, object: this.#fields(fields) });
    }
    return taken;
  }

  encode(value: unknown): Json {
    if (value === undefined || typeof value === 'function') return { $undefined: true };
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
    if (typeof value === 'number') return Number.isFinite(value) ? value : { $number: String(value) };
    if (typeof value !== 'object') return String(value);
    if (Array.isArray(value)) return value.map((each) => this.encode(each));
    if (value instanceof Date) return { $date: Number.isNaN(value.getTime()) ? '' : value.toISOString() };
    if (value instanceof Map) return { $map: [...value].map(([key, each]) => [this.encode(key), this.encode(each)]) };
    if (value instanceof Set) return { $set: [...value].map((each) => this.encode(each)) };
    if (value instanceof MachineError) return { $error: this.#fields(errorFields(value)) };
    if (isObject(value)) return { $ref: this.#numberOf(value) };
    return this.#fields(Object.entries(value));
  }

  #numberOf(object: object): number {
    const known = this.#numbers.get(object);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    this.#numbers.set(object, number);
    this.#fresh.push(object);
    return number;
  }

  #fields(entries: readonly (readonly [string, unknown])[]): Json {
    const fields: Record<string, Json> = Object.create(null);
    for (const [key, value] of entries) {
      // The input of a decision can contain only the annotations of an object, so the annotation of kubectl is also
      // removed here.
      if (key === Annotations.LastAppliedConfiguration) continue;
      if (value !== undefined && typeof value !== 'function')
        fields[key.startsWith('$') ? `$${key}` : key] = this.encode(value);
    }
    return fields;
  }
}

const errorFields = (error: MachineError): readonly (readonly [string, unknown])[] => {
  const { code, message, retryAfterMs, credentialsRefused, throttled, unexpected, place, found, unsent } = error;
  return Object.entries({
    code,
    message,
    retryAfterMs,
    credentialsRefused,
    throttled,
    unexpected,
    place,
    found,
    unsent,
  });
};

/** Converts the JSON of an {@link Encoder} back to values. */
export class Decoder {
  readonly #table = new Map<number, Json>();
  readonly #decoded = new Map<number, unknown>();

  add(number: number, object: Json): void {
    this.#table.set(number, object);
  }

  /**
   * @throws BadRecord
   */
  decode(json: Json, depth = 0): unknown {
    if (depth > DEEPEST) throw new BadRecord(`the recorded values are nested deeper than ${DEEPEST} levels`);
    if (json === null || typeof json !== 'object') return json;
    if (Array.isArray(json)) return json.map((each: Json) => this.decode(each, depth + 1));
    const entries = Object.entries(json as { readonly [key: string]: Json });
    const [first] = entries;
    if (first !== undefined && entries.length === 1 && first[0].startsWith('$') && !first[0].startsWith('$$'))
      return this.#marked(first[0], first[1], depth + 1);
    const fields: Record<string, unknown> = {};
    for (const [key, value] of entries) {
      const name = key.startsWith('$$') ? key.slice(1) : key;
      if (name !== '__proto__') fields[name] = this.decode(value, depth + 1);
    }
    return fields;
  }

  #marked(mark: string, value: Json, depth: number): unknown {
    switch (mark) {
      case '$undefined':
        return undefined;
      case '$date':
        return new Date(typeof value === 'string' ? value : Number.NaN);
      case '$number':
        return Number(value);
      case '$set':
        return new Set(this.#list(value, depth));
      case '$map':
        return new Map(
          this.#list(value, depth).map((pair): [unknown, unknown] =>
            Array.isArray(pair) ? [pair[0], pair[1]] : [pair, undefined],
          ),
        );
      case '$ref':
        return this.#object(value, depth);
      case '$error':
        return errorOf(this.decode(value, depth));
      default:
        throw new BadRecord(`unknown mark ${mark}`);
    }
  }

  #list(value: Json, depth: number): readonly unknown[] {
    const list = this.decode(value, depth);
    if (!Array.isArray(list)) throw new BadRecord('a Set or Map in the record has no list of entries');
    return list;
  }

  #object(number: Json, depth: number): unknown {
    if (typeof number !== 'number') throw new BadRecord('a reference in the record is not a number');
    if (this.#decoded.has(number)) return this.#decoded.get(number);
    const json = this.#table.get(number);
    if (json === undefined) throw new BadRecord(`object ${number} is missing`);
    this.#decoded.set(number, undefined);
    const object = this.decode(json, depth);
    this.#decoded.set(number, object);
    return object;
  }
}

function errorOf(fields: unknown): MachineError {
  if (!isRecord(fields)) throw new BadRecord('an error in the record has no fields');
  const { code, message, ...options } = fields;
  return new MachineError(String(code) as MachineCode, String(message), options);
}
