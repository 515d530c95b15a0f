import { goQuote } from '../../apimachinery/errors/schema-causes.ts';
import { isNumber, isRecord } from '../../apimachinery/objects/json-value.ts';
import type { SchemaNode } from '../../schema/model/node.ts';
import { goPlain } from '../strategic/directives.ts';
import { isTracked, type Scope } from './compare.ts';
import { fieldElement, itemElement, printElement } from './fields/fieldPath.ts';
import { type FieldSet, fieldSet, isEmptySet, LEAF } from './fields/fieldSet.ts';
import { fieldType, isAnyScalar, isScalar, shapeOf } from './fields/types.ts';

const MAX_DEPTH = 1000;

/** Prints a value like `%#v` in Go. */
function goSyntax(value: unknown): string {
  if (typeof value === 'string') return goQuote(value);
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  if (!isRecord(value)) return String(value);
  const fields = Object.keys(value)
    .sort()
    .map((key) => `${goQuote(key)}:${goSyntax(value[key])}`);
  return `map[string]interface {}{${fields.join(', ')}}`;
}

/** Prints the type of a value like `%T` in Go. */
function goTypeOf(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (isRecord(value)) return 'map[string]interface {}';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

const dump = (value: unknown): string => `&value.valueUnstructured{Value:${goSyntax(value)}}`;

/** Returns the reason why a value does not match its scalar type, with the text of structured-merge-diff. */
function scalarProblem(value: unknown, node: SchemaNode | undefined): string | undefined {
  if (value === null || node === undefined || node.intOrString) return undefined;
  switch (node.types[0]) {
    case 'string':
      if (isAnyScalar(node)) return isScalar(value) ? undefined : `expected any scalar, got &{${goPlain(value)}}`;
      return typeof value === 'string' ? undefined : `expected string, got ${dump(value)}`;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : `expected boolean, got &{${goPlain(value)}}`;
    case 'integer':
    case 'number':
      return isNumber(value) ? undefined : `expected numeric (int or float), got ${goTypeOf(value)}`;
    default:
      return undefined;
  }
}

const NO_KEYS = 'k:{}';

const SCALARS: ReadonlySet<string> = new Set(['string', 'boolean', 'integer', 'number']);

/** Returns the reason why an item has no valid path element in an associative list (`listItemToPathElement`). */
function elementProblem(item: unknown, node: SchemaNode): string | undefined {
  if (node.listType === 'set') {
    if (item === null) return "associative list without keys has an element that's an explicit null";
    if (Array.isArray(item)) return 'not supported: associative list with lists as elements';
    return isRecord(item) ? "associative list without keys has an element that's a map type" : undefined;
  }
  if (node.listType !== 'map' || node.listMapKeys.length === 0) return undefined;
  if (item === null) return 'associative list with keys may not have a null element';
  if (!isRecord(item)) return 'associative list with keys may not have non-map elements';
  if (itemElement(item, node) !== NO_KEYS) return undefined;
  const keys = node.listMapKeys.map(goQuote).join(' ');
  return `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`;
}

/** Reads the paths in an applied configuration, and finds the values that do not match the schema. */
export class AppliedReader {
  readonly errors: string[] = [];
  private readonly scope: Scope;

  constructor(scope: Scope) {
    this.scope = scope;
  }

  /** Returns the paths of the object. */
  read(object: Record<string, unknown>, node: SchemaNode | undefined): FieldSet {
    return this.readMap(object, node, '', { isResource: true, depth: 0, top: [] });
  }

  private readValue(value: unknown, node: SchemaNode | undefined, path: string, depth: number): FieldSet {
    if (depth > MAX_DEPTH) {
      this.errors.push(`${path}: nested too deep`);
      return LEAF;
    }
    // A type with several JSON types, such as a quantity, is a named definition.
    if (node?.intOrString === true && node.schema.$id !== undefined && value !== null && !isScalar(value)) {
      this.errors.push(`${path}: expected any scalar, got &{${goPlain(value)}}`);
      return LEAF;
    }
    const type = node === undefined || node.intOrString ? undefined : node.types[0];
    if (type === 'object' && value !== null && !isRecord(value)) {
      this.errors.push(`${path}: expected map, got &{${goPlain(value)}}`);
      return LEAF;
    }
    if (type === 'array' && value !== null && !Array.isArray(value)) {
      this.errors.push(`${path}: expected list, got &{${goPlain(value)}}`);
      return LEAF;
    }
    const shape = shapeOf(node, value);
    if (shape === 'map' && isRecord(value)) {
      return this.readMap(value, node, path, { isResource: node?.embedded === true, depth, top: undefined });
    }
    if (shape === 'list' && Array.isArray(value) && node !== undefined) return this.readList(value, node, path, depth);
    if (shape === 'leaf') this.checkLeaf(value, node, path, depth);
    return value === null && shape !== 'leaf' ? fieldSet(false, undefined) : LEAF;
  }

  /** The applied configuration contains the whole value, so the reader checks all values inside of it. */
  private checkLeaf(value: unknown, node: SchemaNode | undefined, path: string, depth: number): void {
    const isSingle = node !== undefined && SCALARS.has(node.types[0] ?? '');
    if (Array.isArray(value) && !isSingle) {
      value.forEach((item, at) => {
        this.readValue(item, node?.items, `${path}[${at}]`, depth + 1);
      });
    } else if (isRecord(value) && !isSingle) {
      this.readMap(value, node, path, { isResource: false, depth, top: undefined });
    } else {
      const problem = scalarProblem(value, node);
      if (problem !== undefined) this.errors.push(`${path}: ${problem}`);
    }
  }

  /** Returns whether the endpoint writes inside of a top-level field. */
  private isLookedInto(key: string): boolean {
    return key === 'metadata' || (key === 'status' && this.scope.ignoredStatus !== undefined);
  }

  private readMap(
    value: Record<string, unknown>,
    node: SchemaNode | undefined,
    path: string,
    at: { isResource: boolean; depth: number; top: readonly string[] | undefined },
  ): FieldSet {
    const children = new Map<string, FieldSet>();
    for (const key of Object.keys(value)) {
      const below = `${path}.${key}`;
      const type = fieldType(node, key, at.isResource);
      if (!type.known) {
        this.errors.push(`${below}: field not declared in schema`);
        continue;
      }
      const element = fieldElement(key);
      const inner = value[key];
      let set =
        at.top?.length === 0 && this.isLookedInto(key) && isRecord(inner)
          ? this.readMap(inner, type.node, below, { isResource: false, depth: at.depth + 1, top: [element] })
          : this.readValue(inner, type.node, below, at.depth + 1);
      if (
        at.top !== undefined &&
        !isTracked([...at.top, element], this.scope) &&
        !(at.top.length === 0 && key === 'metadata')
      ) {
        continue;
      }
      const hollow = inner === null || (isRecord(inner) && Object.keys(inner).length === 0);
      if (key !== 'metadata' || at.top?.length !== 0) {
        if ((hollow || !type.declared) && !set.self) set = fieldSet(true, set.children);
      }
      if (!isEmptySet(set)) children.set(element, set);
    }
    return fieldSet(false, children);
  }

  private readList(value: readonly unknown[], node: SchemaNode, path: string, depth: number): FieldSet {
    const children = new Map<string, FieldSet>();
    for (const [index, item] of value.entries()) {
      const problem = elementProblem(item, node);
      if (problem !== undefined) {
        // After an invalid item, the reader skips the rest of the list.
        this.errors.push(`${path}: element ${index}: ${problem}`);
        break;
      }
      const element = itemElement(item, node);
      if (children.has(element)) this.errors.push(`${path}: duplicate entries for key ${printElement(element)}`);
      const set = this.readValue(item, node.items, `${path}${printElement(element)}`, depth + 1);
      children.set(element, fieldSet(true, set.children));
    }
    return fieldSet(false, children);
  }
}
