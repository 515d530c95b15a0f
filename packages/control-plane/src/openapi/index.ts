import { createHash } from 'node:crypto';
import { stringifyJson } from '../apimachinery/objects/json.ts';
import { apiVersionOf, type KindDefinition } from '../apimachinery/objects/kind.ts';
import type { Json, JsonObject } from '../apimachinery/objects/object.ts';
import { Components, type Dialect, V2, V3 } from './components.ts';
import { rootPath, schemaName } from './names.ts';
import { Operations } from './operations.ts';

export { encodeOpenApiV2, V2_PROTOBUF, V2_PROTOBUF_NAMES } from './v2-protobuf.ts';

const INFO: JsonObject = { title: 'Kubernetes', version: 'v1.36.3' };

const SECURITY: JsonObject = {
  BearerToken: { type: 'apiKey', description: 'Bearer Token authentication', name: 'authorization', in: 'header' },
};

/** Returns a hash of custom kinds. Built-in schemas do not change while the server runs, so the hash ignores them. */
export function fingerprint(kinds: readonly KindDefinition[]): string {
  const hash = createHash('sha512');
  for (const kind of kinds) {
    hash.update(`${apiVersionOf(kind)} ${kind.kind} ${kind.plural} ${JSON.stringify(kind.subresources ?? null)}`);
    if (kind.custom) hash.update(stringifyJson(kind.schema ?? null));
  }
  return hash.digest('hex').toUpperCase();
}

export interface GroupVersionEntry {
  readonly group: string;
  readonly version: string;
  readonly hash: string;
}

/**
 * Returns the index at `/openapi/v3`, which lists one document for each group version. The URL of a document contains a
 * hash, so that clients can cache the document.
 */
export function openApiV3Index(entries: readonly GroupVersionEntry[]): Json {
  const hashes = new Map(entries.map(({ group, version, hash }) => [rootPath(group, version).slice(1), hash]));
  const paths: JsonObject = {};
  for (const path of [...hashes.keys()].sort()) {
    paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${hashes.get(path)}` };
  }
  return { paths };
}

function build(kinds: readonly KindDefinition[], dialect: Dialect): { paths: JsonObject; schemas: JsonObject } {
  const components = new Components(dialect);
  const operations = new Operations(dialect, components);
  for (const kind of kinds) {
    components.add(kind);
    operations.add(kind);
  }
  return { paths: operations.paths, schemas: components.schemas };
}

/** Returns the OpenAPI v3 document of one group version: its paths, and the schemas of all its kinds. */
export function openApiV3(kinds: readonly KindDefinition[]): Json {
  const { paths, schemas } = build(kinds, V3);
  return { openapi: '3.0.0', info: INFO, paths, components: { schemas, securitySchemes: SECURITY } };
}

export interface V2Piece {
  readonly paths: string;
  /** The definitions of the kinds in this group version, by name. */
  readonly own: ReadonlyMap<string, string>;
  readonly shared: ReadonlyMap<string, string>;
}

export function openApiV2Piece(kinds: readonly KindDefinition[]): V2Piece {
  const { paths, schemas } = build(kinds, V2);
  const names = new Set(kinds.map(schemaName));
  const definitions = Object.entries(schemas).map(([name, schema]) => [name, stringifyJson(schema)] as const);
  return {
    paths: JSON.stringify(paths).slice(1, -1),
    own: new Map(definitions.filter(([name]) => names.has(name))),
    shared: new Map(definitions.filter(([name]) => !names.has(name))),
  };
}

/** Joins the parts of all group versions to the OpenAPI v2 document. */
export function openApiV2(pieces: readonly V2Piece[]): string {
  const definitions = new Map(pieces.flatMap(({ shared }) => [...shared]));
  for (const { own } of pieces) for (const [name, text] of own) definitions.set(name, text);
  const paths = pieces.map((piece) => piece.paths).filter((text) => text !== '');
  const schemas = [...definitions].map(([name, text]) => `${JSON.stringify(name)}:${text}`);
  const head = `"swagger":"2.0","info":${JSON.stringify(INFO)},"paths":{${paths.join(',')}}`;
  const security = `"securityDefinitions":${JSON.stringify(SECURITY)},"security":[{"BearerToken":[]}]`;
  return `{${head},"definitions":{${schemas.join(',')}},${security}}`;
}
