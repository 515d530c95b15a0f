import { readFile } from 'node:fs/promises';
import { OPERATION_GROUPS } from '@mcm/provider-azure';
import { type Description, slimDescriptions } from '@mcm/provider-gcp';
import type { Plugin } from 'esbuild';

/** A client of Azure's SDK makes every group of its operations in its constructor, so that the bundler can leave out none. */
const AZURE_CLIENT = /\/@azure\/arm-(compute|network)\/dist\/esm\/\w+ManagementClient\.js$/;
const GROUP = /this\.(\w+)\s*=\s*_get\w+Operations\(this\._client\);/g;

/**
 * Takes the groups of operations that no driver uses out of the source of a client.
 * @throws Error for a group to keep that the client does not have: the program would fail at its first call
 */
export function slimAzure(source: string, kept: readonly string[]): string {
  const known = new Set([...source.matchAll(GROUP)].map(([, name]) => name));
  for (const name of kept)
    if (!known.has(name)) throw new Error(`Azure's SDK has no group ${name} that the bundler could keep`);
  return source.replaceAll(GROUP, (all, name: string) => (kept.includes(name) ? all : ''));
}

/** Descriptions of all messages of Compute Engine: 12 MB. */
const GCE_DESCRIPTIONS = /\/@google-cloud\/compute\/build\/protos\/protos\.json$/;

/** The runtime of Google's SDK without gRPC: the part that carries JSON. */
const GAX = /\/google-gax\/build\/src\/index\.js$/;
const GAX_WITHOUT_GRPC = [
  "exports.fallback = require('./fallback.js');",
  "exports.loggingUtils = require('google-logging-utils');",
  'exports.decodeAnyProtosInArray = (all) => all;',
].join('\n');

/** The driver gets its tokens by itself; nothing in the program can ask for one in another way. */
const GOOGLE_LOGINS = /\/google-auth-library\/build\/src\/index\.js$/;
const NO_LOGINS =
  "exports.GoogleAuth = class { constructor() { throw new Error('this program has no logins of Google'); } };";

/** The driver's own chain of logins goes through its transport; that of the SDK would open sockets of its own. */
const AWS_LOGINS = /\/@aws-sdk\/credential-provider-node\/dist-(cjs|es)\/index\.js$/;
const NO_AWS_LOGINS =
  "exports.defaultProvider = () => async () => { throw new Error('this program has no logins of the AWS SDK'); };";

/** Leaves out what the drivers do not use of the clouds' SDKs. */
export const slimSdks: Plugin = {
  name: 'slim-sdks',
  setup(build) {
    build.onLoad({ filter: AZURE_CLIENT }, async ({ path }) => {
      const [, client] = AZURE_CLIENT.exec(path) ?? [];
      const kept = client === 'compute' ? OPERATION_GROUPS.compute : OPERATION_GROUPS.network;
      return { contents: slimAzure(await readFile(path, 'utf8'), kept) };
    });
    build.onLoad({ filter: GCE_DESCRIPTIONS }, async ({ path }) => {
      const all = JSON.parse(await readFile(path, 'utf8')) as Description;
      return { contents: JSON.stringify(slimDescriptions(all)), loader: 'json' };
    });
    build.onLoad({ filter: GAX }, () => ({ contents: GAX_WITHOUT_GRPC }));
    build.onLoad({ filter: GOOGLE_LOGINS }, () => ({ contents: NO_LOGINS }));
    build.onLoad({ filter: AWS_LOGINS }, () => ({ contents: NO_AWS_LOGINS }));
  },
};
