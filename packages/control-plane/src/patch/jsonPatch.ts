import { cloneJson, equalJson, goJsonBytes, isRecord, own, put } from '../apimachinery/objects/json-value.ts';
import type { Json, JsonObject } from '../apimachinery/objects/object.ts';
import { StatusError } from '../apimachinery/objects/status.ts';
import { goTypeName } from './errors.ts';
import type { RepeatedValues } from './repeatedValues.ts';

export const MAX_OPERATIONS = 10_000;
/** The `copy` operations of one patch may copy at most `MAX_COPIED_BYTES`, as in kube-apiserver. */
export const MAX_COPIED_BYTES = 3 * 1024 * 1024;

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from: string;
  readonly value: Json;
}

const refused = (): StatusError =>
  new StatusError({
    code: 422,
    reason: 'Invalid',
    details: {},
    message: 'the server rejected our request due to an error in our request',
  });

const undecodable = (detail: string): StatusError =>
  new StatusError({ code: 400, reason: 'BadRequest', message: `error decoding patch: ${detail}` });

function parseOperation(entry: unknown): Operation {
  if (!isRecord(entry)) {
    throw undecodable(`json: cannot unmarshal ${goTypeName(entry)} into Go value of type handlers.jsonPatchOp`);
  }
  const text = (name: string): string => {
    const value = own(entry, name);
    if (value === undefined || value === null) return '';
    if (typeof value === 'string') return value;
    throw undecodable(
      `json: cannot unmarshal ${goTypeName(value)} into Go struct field jsonPatchOp.${name} of type string`,
    );
  };
  return { op: text('op'), path: text('path'), from: text('from'), value: (own(entry, 'value') ?? null) as Json };
}

/** Splits a JSON pointer. As in evanphx/json-patch, the function ignores the part before the first slash. */
const tokens = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));

type Container = Json[] | JsonObject;

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

function index(token: string, length: number, inserting: boolean): number {
  if (!/^-?\d+$/.test(token)) throw refused();
  let at = Number(token);
  if (at < 0) at += inserting ? length + 1 : length;
  if (at < 0 || at > (inserting ? length : length - 1)) throw refused();
  return at;
}

function child(container: Container, token: string): Json | undefined {
  if (Array.isArray(container)) {
    if (!/^-?\d+$/.test(token)) return undefined;
    const at = Number(token);
    return container[at < 0 ? at + container.length : at];
  }
  return own(container, token) as Json | undefined;
}

function find(document: Json, pointer: string): { container: Container; token: string } {
  const path = tokens(pointer);
  const last = path.pop();
  let container: Json = document;
  for (const token of path) {
    if (!isContainer(container)) throw refused();
    container = child(container, token) ?? null;
  }
  if (last === undefined || !isContainer(container)) throw refused();
  return { container, token: last };
}

function add(document: Json, pointer: string, value: Json): Json {
  const { container, token } = find(document, pointer);
  if (!Array.isArray(container)) put(container, token, value);
  else if (token === '-') container.push(value);
  else container.splice(index(token, container.length, true), 0, value);
  return document;
}

/** Returns the value at a JSON pointer. As in kube-apiserver, a missing key has the value null. */
function get(document: Json, pointer: string): Json {
  const { container, token } = find(document, pointer);
  if (Array.isArray(container)) return container[index(token, container.length, false)] ?? null;
  return child(container, token) ?? null;
}

function remove(document: Json, pointer: string): void {
  const { container, token } = find(document, pointer);
  if (Array.isArray(container)) container.splice(index(token, container.length, false), 1);
  else if (Object.hasOwn(container, token)) delete container[token];
  else throw refused();
}

/** As in kube-apiserver, the operation adds a missing key to a map, although RFC 6902 requires an error. */
function replace(document: Json, pointer: string, value: Json): Json {
  if (pointer === '') return value;
  const { container, token } = find(document, pointer);
  if (Array.isArray(container)) container[index(token, container.length, false)] = value;
  else put(container, token, value);
  return document;
}

class Copies {
  #bytes = 0;

  /** @throws StatusError 422 if the copies of the patch exceed `MAX_COPIED_BYTES` */
  of(value: Json): Json {
    this.#bytes += goJsonBytes(value);
    if (this.#bytes > MAX_COPIED_BYTES) throw refused();
    return cloneJson(value);
  }
}

/**
 * On the path to the target of an operation, the library of kube-apiserver reads objects and lists. Records these
 * values.
 */
function readTo(document: Json, pointer: string, repeated: RepeatedValues): void {
  let value: Json | undefined = document;
  for (const token of tokens(pointer)) {
    repeated.read(value);
    value = isContainer(value) ? child(value, token) : undefined;
  }
}

interface Progress {
  readonly copies: Copies;
  readonly repeated: RepeatedValues | undefined;
  readonly index: number;
}

function apply(document: Json, operation: Operation, { copies, repeated, index: at }: Progress): Json {
  const { op, from, path } = operation;
  if (repeated !== undefined) {
    if (op === 'copy' || op === 'move') readTo(document, from, repeated);
    readTo(document, path, repeated);
  }
  const given = (): Json => {
    const value = cloneJson(operation.value);
    repeated?.placed(value, at);
    return value;
  };
  switch (op) {
    case 'add':
      return add(document, path, given());
    case 'remove':
      remove(document, path);
      return document;
    case 'replace':
      return replace(document, path, given());
    case 'copy': {
      const value = get(document, from);
      const copy = copies.of(value);
      repeated?.copied(value, copy);
      return add(document, path, copy);
    }
    case 'move': {
      const value = get(document, from);
      remove(document, from);
      return add(document, path, value);
    }
    case 'test': {
      const value = path === '' ? document : get(document, path);
      if (!equalJson(value, operation.value)) throw refused();
      repeated?.compared(value);
      return document;
    }
    default:
      throw refused();
  }
}

/**
 * Applies a JSON patch (RFC 6902) to a copy of `target`, and returns the copy.
 * @param repeated records which values of the patch are part of the copy.
 * @throws StatusError 400 for an invalid patch, 413 for too many operations, 422 for a failed operation.
 */
export function applyJsonPatch(target: JsonObject, operations: unknown, repeated?: RepeatedValues): JsonObject {
  if (operations !== null && !Array.isArray(operations)) {
    throw undecodable(`json: cannot unmarshal ${goTypeName(operations)} into Go value of type []handlers.jsonPatchOp`);
  }
  const list = operations ?? [];
  if (list.length > MAX_OPERATIONS) {
    throw new StatusError({
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: `Request entity too large: The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${list.length}`,
    });
  }
  let document: Json = cloneJson(target);
  const copies = new Copies();
  for (const [index, entry] of list.entries()) {
    document = apply(document, parseOperation(entry), { copies, repeated, index });
  }
  if (!isRecord(document)) throw refused();
  return document as JsonObject;
}
