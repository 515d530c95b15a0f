import { apiVersionOf, type KindDefinition } from '../kinds/kind.ts';
import type { Json } from '../object.ts';

/** The index of `/openapi/v3`: one document per group version. */
export function openApiV3Index(kinds: readonly KindDefinition[]): Json {
  const paths: Record<string, Json> = {};
  for (const kind of kinds) {
    const path = kind.group === '' ? `api/${kind.version}` : `apis/${apiVersionOf(kind)}`;
    paths[path] = { serverRelativeURL: `/openapi/v3/${path}` };
  }
  return { paths };
}

/** The OpenAPI v3 document of one group version. */
export function openApiV3(_kinds: readonly KindDefinition[], _group: string, _version: string): Json {
  return { openapi: '3.0.0', info: { title: 'Kubernetes', version: 'v1.36.3' }, paths: {} };
}

/** The OpenAPI v2 document of all kinds. */
export function openApiV2(_kinds: readonly KindDefinition[]): Json {
  return { swagger: '2.0', info: { title: 'Kubernetes', version: 'v1.36.3' }, paths: {}, definitions: {} };
}
