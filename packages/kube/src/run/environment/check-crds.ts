import type { KubeClient } from '../../contract/client.ts';
import { isNotFound } from '../../contract/errors.ts';
import { discoverResources } from '../cluster/api-server.ts';
import {
  crdSentence,
  type ExpectedCrd,
  type Schema,
  type ServedSchemas,
  servedSchema,
  statusSentence,
} from '../warnings/crd-fields.ts';
import type { Warnings } from '../warnings/warnings.ts';

/** Reads the fields of a kind from the OpenAPI description, which every authenticated user may read. */
async function described(
  client: KubeClient,
  group: string,
  version: string,
  signal: AbortSignal,
): Promise<ServedSchemas> {
  try {
    return await client.request<ServedSchemas>('GET', `/openapi/v3/apis/${group}/${version}`, { signal });
  } catch (error) {
    if (isNotFound(error)) return {};
    throw error;
  }
}

/**
 * Compares the CRDs of the API server with the CRDs that the binary expects.
 * @throws KubeError
 */
export async function checkCrds(
  client: KubeClient,
  crds: readonly ExpectedCrd[],
  warnings: Warnings,
  signal: AbortSignal,
): Promise<void> {
  const seen = new Map<string, ServedSchemas>();
  const discovered = new Map<string, ReadonlySet<string>>();
  for (const crd of crds) {
    const { metadata, spec } = crd;
    const version = spec.versions.find(({ served }) => served);
    if (version === undefined) continue;
    const key = `${spec.group}/${version.name}`;
    const served = seen.get(key) ?? (await described(client, spec.group, version.name, signal));
    seen.set(key, served);
    const resources =
      discovered.get(key) ?? (await discoverResources(client, { group: spec.group, version: version.name }, signal));
    discovered.set(key, resources);
    const there = servedSchema(served, { group: spec.group, version: version.name, kind: spec.names.kind });
    const sentence =
      crdSentence(metadata.name, version.schema.openAPIV3Schema as Schema, there) ?? statusSentence(crd, resources);
    if (sentence === undefined) warnings.clear('crd', metadata.name);
    else warnings.raise('crd', metadata.name, sentence);
  }
}
