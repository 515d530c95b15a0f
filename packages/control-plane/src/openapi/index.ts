import { createHash } from 'node:crypto';
import { apiVersionOf, type KindDefinition } from '../kinds/kind.ts';
import type { Json, JsonObject } from '../object.ts';
import { Components, type Dialect, V2, V3 } from './components.ts';
import { rootPath } from './names.ts';
import { Operations } from './operations.ts';

const INFO: JsonObject = { title: 'Kubernetes', version: 'v1.36.3' };

const SECURITY: JsonObject = {
  BearerToken: { type: 'apiKey', description: 'Bearer Token authentication', name: 'authorization', in: 'header' },
};

/** What a document is made from; built-in schemas never change while the server runs. */
function fingerprint(kinds: readonly KindDefinition[]): string {
  const hash = createHash('sha512');
  for (const kind of kinds) {
    hash.update(`${apiVersionOf(kind)} ${kind.kind} ${kind.plural} ${JSON.stringify(kind.subresources ?? null)}`);
    if (kind.custom) hash.update(JSON.stringify(kind.schema ?? null));
  }
  return hash.digest('hex').toUpperCase();
}

/**
 * The index of `/openapi/v3`: one document per group version, with a hash in its url that changes when the document does, so
 * that clients may keep it.
 */
export function openApiV3Index(kinds: readonly KindDefinition[]): Json {
  const byPath = new Map<string, KindDefinition[]>();
  for (const kind of kinds) {
    const path = rootPath(kind.group, kind.version).slice(1);
    byPath.set(path, [...(byPath.get(path) ?? []), kind]);
  }
  const paths: JsonObject = {};
  for (const path of [...byPath.keys()].sort()) {
    paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${fingerprint(byPath.get(path) ?? [])}` };
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

/** The OpenAPI v3 document of one group version: its paths, and the schemas of its kinds with all they refer to. */
export function openApiV3(kinds: readonly KindDefinition[], group: string, version: string): Json {
  const { paths, schemas } = build(
    kinds.filter((kind) => kind.group === group && kind.version === version),
    V3,
  );
  return { openapi: '3.0.0', info: INFO, paths, components: { schemas, securitySchemes: SECURITY } };
}

/** The OpenAPI v2 document of all kinds. */
export function openApiV2(kinds: readonly KindDefinition[]): Json {
  const { paths, schemas } = build(kinds, V2);
  return {
    swagger: '2.0',
    info: INFO,
    paths,
    definitions: schemas,
    securityDefinitions: SECURITY,
    security: [{ BearerToken: [] }],
  };
}
