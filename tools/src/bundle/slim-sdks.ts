import { readFile } from 'node:fs/promises';
import { OPERATION_GROUPS } from '@mcm/provider-azure';
import { type Description, slimDescriptions } from '@mcm/provider-gcp';
import type { Plugin } from 'esbuild';

/**
 * Matches the source files of Azure clients. The constructor of an Azure client creates all groups of operations, so
 * the bundler cannot omit unused groups.
 */
const AZURE_CLIENT = /\/@azure\/arm-(compute|network)\/dist\/esm\/\w+ManagementClient\.js$/;
const GROUP = /this\.(\w+)\s*=\s*_get\w+Operations\(this\._client\);/g;

/**
 * Removes the groups of operations from the source of an Azure client if no driver uses them.
 * @throws Error if the Azure client lacks a used group, because the program would fail at its first Azure request.
 */
export function slimAzure(source: string, kept: readonly string[]): string {
  const known = new Set([...source.matchAll(GROUP)].map(([, name]) => name));
  for (const name of kept) if (!known.has(name)) throw new Error(`the SDK of Azure has no operation group ${name}`);
  return source.replaceAll(GROUP, (all, name: string) => (kept.includes(name) ? all : ''));
}

const GCE_DESCRIPTIONS = /\/@google-cloud\/compute\/build\/protos\/protos\.json$/;

/**
 * Matches the main file of the runtime library of Google's SDK. The bundle contains the JSON part of the runtime
 * library, and omits the gRPC part.
 */
const GAX = /\/google-gax\/build\/src\/index\.js$/;
const GAX_WITHOUT_GRPC = [
  "exports.fallback = require('./fallback.js');",
  "exports.loggingUtils = require('google-logging-utils');",
  'exports.decodeAnyProtosInArray = (all) => all;',
].join('\n');

/**
 * Matches the login library of Google. The bundle omits the login library of Google, because the GCP driver has its own
 * logins.
 */
const GOOGLE_LOGINS = /\/google-auth-library\/build\/src\/index\.js$/;
const NO_LOGINS =
  "exports.GoogleAuth = class { constructor() { throw new Error('this program has no logins of Google'); } };";

/**
 * Matches the login chain of the AWS SDK. The bundle omits the login chain of the AWS SDK, because the AWS driver has
 * its own chain. The login chain of the AWS SDK would also open sockets outside of the driver's HTTP transport.
 */
const AWS_LOGINS = /\/@aws-sdk\/credential-provider-node\/dist-(cjs|es)\/index\.js$/;
const NO_AWS_LOGINS =
  "exports.defaultProvider = () => async () => { throw new Error('this program has no logins of the AWS SDK'); };";

/**
 * Matches the messages of gRPC services that the driver does not call. Google's library needs these messages only to
 * call the services.
 */
const GAX_PROTOS = /\/google-gax\/build\/protos\/(iam_service|locations|operations)\.js$/;

/** Matches the file with the descriptions of all EC2 messages, which is 1.3 MB large. */
const EC2_DESCRIPTIONS = /\/@aws-sdk\/client-ec2\/dist-es\/schemas\/schemas_0\.js$/;
const DESCRIPTION = /^((?:export )?var [\w$]+ = )(\[.*?\]);$/gms;

/**
 * Marks the descriptions of EC2 messages as free of side effects, so that the bundler omits unused descriptions.
 * Without the marks, the bundler keeps all descriptions, because their keys are computed.
 * @throws Error if the file of the AWS SDK has an unexpected form, because the bundle would contain all descriptions.
 */
export function slimAws(source: string): string {
  const slim = source.replaceAll(DESCRIPTION, '$1/* @__PURE__ */ (() => $2)();');
  if (slim === source) throw new Error('the descriptions of EC2 messages in the AWS SDK have an unknown format');
  return slim;
}

/**
 * Matches the file with the error texts of zod in all languages, which is 300 kB large. All error messages of mcm are
 * in English.
 */
const ZOD_LOCALES = /\/zod\/v4\/locales\/index\.js$/;
const ENGLISH_ONLY = "export { default as en } from './en.js';";

/**
 * Matches the main module of undici. The bundle contains only the parts of undici that `undiciParts` of `@mcm/kube`
 * exports. The omitted parts of undici (fetch, WebSocket, mocks, caches) are 500 kB.
 */
const UNDICI = /\/undici\/index\.js$/;
const CONNECTIONS_ONLY = [
  "exports.Pool = require('./lib/dispatcher/pool.js');",
  "exports.ProxyAgent = require('./lib/dispatcher/proxy-agent.js');",
].join('\n');

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
