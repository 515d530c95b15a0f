import { readFile } from 'node:fs/promises';
import { OPERATION_GROUPS } from '@mcm/provider-azure';
import { type Description, slimDescriptions } from '@mcm/provider-gcp';
import type { Plugin } from 'esbuild';

/**
 * Matches the clients of Azure. The constructor of a client uses all groups of operations, so the bundler cannot omit a
 * group.
 */
const AZURE_CLIENT = /\/@azure\/arm-(compute|network)\/dist\/esm\/\w+ManagementClient\.js$/;
const GROUP = /this\.(\w+)\s*=\s*_get\w+Operations\(this\._client\);/g;

/**
 * Removes groups of operations from the source of a client, if no driver uses these groups.
 * @throws Error if a used group does not exist in the client, because the program would fail at its first call.
 */
export function slimAzure(source: string, kept: readonly string[]): string {
  const known = new Set([...source.matchAll(GROUP)].map(([, name]) => name));
  for (const name of kept) if (!known.has(name)) throw new Error(`the SDK of Azure has no operation group ${name}`);
  return source.replaceAll(GROUP, (all, name: string) => (kept.includes(name) ? all : ''));
}

const GCE_DESCRIPTIONS = /\/@google-cloud\/compute\/build\/protos\/protos\.json$/;

/**
 * Matches the runtime of Google's SDK. The bundle contains only the part of the library for JSON, and not the part for
 * gRPC.
 */
const GAX = /\/google-gax\/build\/src\/index\.js$/;
const GAX_WITHOUT_GRPC = [
  "exports.fallback = require('./fallback.js');",
  "exports.loggingUtils = require('google-logging-utils');",
  'exports.decodeAnyProtosInArray = (all) => all;',
].join('\n');

/** The login library of Google. The bundle does not contain this library, because the driver has its own logins. */
const GOOGLE_LOGINS = /\/google-auth-library\/build\/src\/index\.js$/;
const NO_LOGINS =
  "exports.GoogleAuth = class { constructor() { throw new Error('this program has no logins of Google'); } };";

/**
 * The login chain of the AWS SDK. The bundle does not contain this chain, because the driver has its own chain. The
 * chain of the SDK would open sockets outside of the driver's transport.
 */
const AWS_LOGINS = /\/@aws-sdk\/credential-provider-node\/dist-(cjs|es)\/index\.js$/;
const NO_AWS_LOGINS =
  "exports.defaultProvider = () => async () => { throw new Error('this program has no logins of the AWS SDK'); };";

/**
 * Matches the messages of gRPC services that the driver does not call. The library needs the messages only to call
 * these services.
 */
const GAX_PROTOS = /\/google-gax\/build\/protos\/(iam_service|locations|operations)\.js$/;

/** The descriptions of all messages of EC2: 1.3 MB, with one statement for each message. */
const EC2_DESCRIPTIONS = /\/@aws-sdk\/client-ec2\/dist-es\/schemas\/schemas_0\.js$/;
const DESCRIPTION = /^((?:export )?var [\w$]+ = )(\[.*?\]);$/gms;

/**
 * Marks the descriptions of messages as free of side effects, so that the bundler omits unused descriptions. Without
 * the marks, the bundler keeps all descriptions, because the keys of the descriptions are computed.
 * @throws Error if the source has another form, because the program would contain all descriptions.
 */
export function slimAws(source: string): string {
  const slim = source.replaceAll(DESCRIPTION, '$1/* @__PURE__ */ (() => $2)();');
  if (slim === source) throw new Error('the descriptions of EC2 messages in the AWS SDK have an unknown format');
  return slim;
}

/** The error texts of zod in all languages, which are 300 kB. The errors of this product are in English. */
const ZOD_LOCALES = /\/zod\/v4\/locales\/index\.js$/;
const ENGLISH_ONLY = "export { default as en } from './en.js';";

/**
 * The main module of undici. Only the parts in `undiciParts` of `@mcm/kube` are bundled. The omitted parts (fetch,
 * WebSocket, mocks, caches) are 500 kB.
 */
const UNDICI = /\/undici\/index\.js$/;
const CONNECTIONS_ONLY = [
  "exports.Pool = require('./lib/dispatcher/pool.js');",
  "exports.ProxyAgent = require('./lib/dispatcher/proxy-agent.js');",
].join('\n');

/** A plugin that omits unused parts of the clouds' SDKs and of other large libraries. */
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
    build.onLoad({ filter: EC2_DESCRIPTIONS }, async ({ path }) => ({
      contents: slimAws(await readFile(path, 'utf8')),
    }));
    build.onLoad({ filter: GAX_PROTOS }, () => ({ contents: 'module.exports = {};' }));
    build.onLoad({ filter: ZOD_LOCALES }, () => ({ contents: ENGLISH_ONLY }));
    build.onLoad({ filter: UNDICI }, () => ({ contents: CONNECTIONS_ONLY }));
    build.onLoad({ filter: GAX }, () => ({ contents: GAX_WITHOUT_GRPC }));
    build.onLoad({ filter: GOOGLE_LOGINS }, () => ({ contents: NO_LOGINS }));
    build.onLoad({ filter: AWS_LOGINS }, () => ({ contents: NO_AWS_LOGINS }));
  },
};
