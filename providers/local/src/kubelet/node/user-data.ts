import { DataUrlError } from '@mcm/machine-config';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { type KubeletBehaviour, kubeletBehaviour } from '../../machine/behaviour.ts';
import { type ConfigPointer, pointerOf, pointerSchema } from './pointer.ts';

export interface BootConfig {
  /** The API server that the kubelet joins. If `server` is undefined, the kubelet uses the setting of the process. */
  readonly server?: string | undefined;
  readonly ca?: string | undefined;
  readonly token?: string | undefined;
  readonly nodeName?: string | undefined;
  readonly nodeLabels?: Readonly<Record<string, string>> | undefined;
  readonly taints?:
    | readonly { readonly key: string; readonly value?: string | undefined; readonly effect: string }[]
    | undefined;
  readonly staticPods?: readonly StaticPod[] | undefined;
  readonly pointer?: ConfigPointer;
  readonly behaviour: KubeletBehaviour;
}

/** The error for invalid user data. The message of the error is written to the console of the machine. */
export class UserDataError extends Error {
  override readonly name = 'UserDataError';
}

const settings = z.looseObject({
  server: z.url({ protocol: /^https?$/ }).optional(),
  certificateAuthority: z.string().optional(),
  certificateAuthorityData: z.base64().optional(),
  bootstrapToken: z.string().optional(),
  nodeName: z.string().min(1).optional(),
  nodeLabels: z.record(z.string(), z.string()).optional(),
  taints: z
    .array(z.looseObject({ key: z.string().min(1), value: z.string().optional(), effect: z.string().min(1) }))
    .optional(),
  staticPods: z
    .array(z.looseObject({ name: z.string().min(1), namespace: z.string().optional(), image: z.string().optional() }))
    .optional(),
  ignition: pointerSchema.optional(),
  behaviour: kubeletBehaviour.optional(),
});

const TOKEN = /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/;
const SERVER = /https:\/\/[\w.:[\]-]+(?:\/[\w./-]*)?/;
const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/;

/**
 * Reads user data:
 * - A YAML or JSON mapping contains settings at the top level or under `kubelet:`. The first line may be a comment such
 *   as `#cloud-config`.
 * - An Ignition config refers to the first config of the machine.
 * - Any other text is a script. The first bootstrap token, https address and certificate in the script are used.
 * @throws {UserDataError}
 */
export function parseUserData(text: string): BootConfig {
  if (text.trim() === '') return { behaviour: {} };
  const mapping = text.startsWith('#!') ? undefined : parseMapping(text);
  if (mapping === undefined) return scan(text);
  const { kubelet } = mapping;
  const fields = typeof kubelet === 'object' && kubelet !== null ? { ...mapping, ...kubelet } : mapping;
  const parsed = settings.safeParse(fields);
  if (parsed.success) return fromSettings(parsed.data);
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new UserDataError(`user data: ${problems.join('; ')}`);
}

function parseMapping(text: string): Readonly<Record<string, unknown>> | undefined {
  const document = parseDocument(text);
  if (document.errors.length > 0) return undefined;
  const value: unknown = document.toJS();
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}

function fromSettings(found: z.infer<typeof settings>): BootConfig {
  const { server, certificateAuthority, certificateAuthorityData, bootstrapToken, nodeName, nodeLabels, taints } =
    found;
  const ca =
    certificateAuthority ??
    (certificateAuthorityData === undefined ? undefined : Buffer.from(certificateAuthorityData, 'base64').toString());
  return {
    server,
    ca,
    token: bootstrapToken,
    nodeName,
    nodeLabels,
    taints,
    staticPods: found.staticPods,
    ...pointed(found),
    behaviour: found.behaviour ?? {},
  };
}

function pointed({ ignition }: z.infer<typeof settings>): Pick<BootConfig, 'pointer'> {
  try {
    const pointer = ignition && pointerOf(ignition);
    return pointer ? { pointer } : {};
  } catch (error) {
    if (!(error instanceof DataUrlError)) throw error;
    const field = 'ignition.security.tls.certificateAuthorities';
    throw new UserDataError(`user data: ${field}: ${error.message}`, { cause: error });
  }
}

function scan(text: string): BootConfig {
  const [server, ca, token] = [SERVER, PEM, TOKEN].map((pattern) => pattern.exec(text)?.[0]);
  return {
    server,
    ca,
    token,
    behaviour: {},
  };
}

export interface StaticPod {
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly image?: string | undefined;
}
