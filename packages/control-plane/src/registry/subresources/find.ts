import type { Json } from '../../apimachinery/objects/object.ts';
import type { ServedKind } from '../../resources/kind-registry.ts';
import type { WriteOptions } from '../../resources/options.ts';
import type { Call, Registry, Target } from '../../resources/registry.ts';
import { bindPod } from './binding.ts';
import { nodeProxy, podLog, podProxy, podStream, serviceProxy } from './connect.ts';
import { evictPod } from './eviction.ts';
import { finalizeNamespace } from './finalize.ts';
import { partUpdate } from './part-update.ts';
import { scale } from './scale.ts';
import { requestToken } from './token.ts';

/** A request to a subresource that is no plain part of its object. */
export interface SubresourceRequest {
  readonly registry: Registry;
  readonly target: Target;
  readonly call: Call;
  readonly method: string;
  readonly query: URLSearchParams;
  /** Segments of the path beyond the subresource. */
  readonly rest: readonly string[];
  /** Media type of the body, without parameters. */
  readonly contentType: string;
  body(): Promise<Uint8Array>;
  /** The body as plain JSON. `kindName` names what is expected, in refusals. */
  readBody(kindName: string): Promise<{ plain: Record<string, unknown>; bytes: Uint8Array }>;
  options(kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions', applying?: boolean): WriteOptions;
}

/** What it is answered: JSON text, or a value that becomes it. */
export interface SubresourceAnswer {
  readonly status: number;
  readonly text?: string;
  readonly body?: Json;
}

/** Answers a subresource. @throws StatusError; 405 for a method that it lacks */
export type SubresourceHandler = (request: SubresourceRequest) => Promise<SubresourceAnswer>;

/** The handler of a subresource, for kinds that list it in `otherSubresources`. */
const HANDLERS: Readonly<Record<string, SubresourceHandler>> = {
  'pods/binding': bindPod,
  'pods/eviction': evictPod,
  'pods/ephemeralcontainers': partUpdate,
  'pods/resize': partUpdate,
  'pods/log': podLog,
  'pods/exec': podStream,
  'pods/attach': podStream,
  'pods/portforward': podStream,
  'pods/proxy': podProxy,
  'services/proxy': serviceProxy,
  'nodes/proxy': nodeProxy,
  'serviceaccounts/token': requestToken,
  'namespaces/finalize': finalizeNamespace,
  'certificatesigningrequests/approval': partUpdate,
};

/** undefined: the kind has no such subresource. */
export function findSubresource({ kind }: ServedKind, name: string): SubresourceHandler | undefined {
  if (name === 'scale') return kind.subresources?.scale === undefined ? undefined : scale;
  if (kind.custom || kind.otherSubresources?.includes(name) !== true) return undefined;
  return HANDLERS[`${kind.plural}/${name}`];
}
