import type { Transport } from '../contract/transport.ts';

/**
 * Events, Leases and bootstrap tokens need no precondition, because their names identify the object. The name of a
 * bootstrap token contains the UID of its machine.
 */
const EXEMPT = /\/(events|leases)(\/|\?|$)|\/secrets\/bootstrap-token-/;

interface Body {
  readonly metadata?: { readonly uid?: unknown; readonly resourceVersion?: unknown };
  readonly preconditions?: { readonly uid?: unknown; readonly resourceVersion?: unknown };
  readonly deleteOptions?: Body;
}

interface Operation {
  readonly op: string;
  readonly path: string;
}

const namesObject = ({ metadata, preconditions, deleteOptions }: Body): boolean =>
  [metadata, preconditions, deleteOptions?.preconditions].some(
    (bound) => bound?.uid !== undefined || bound?.resourceVersion !== undefined,
  );

/** Returns true if a delete request contains the resource version of the object as a precondition. */
const isVersioned = ({ preconditions }: Body): boolean => preconditions?.resourceVersion !== undefined;

const isBound = (body: Body | readonly Operation[]): boolean =>
  'some' in body ? body.some(({ op, path }) => op === 'test' && path === '/metadata/uid') : namesObject(body);

/**
 * Observes the writes of a controller under test. Each write to an existing object must contain the UID or version of
 * the object as a precondition. With the precondition, the API server refuses a write to a new object with the name of
 * the old object.
 * @param byState Plural names of kinds whose deletions must contain the version.
 * @returns a function that wraps a transport, and the writes without a UID or version
 */
export function watchBoundWrites(byState: readonly string[]): {
  readonly wrap: (transport: Transport) => Transport;
  readonly unbound: Set<string>;
} {
  const unbound = new Set<string>();
  const ofState = new RegExp(`/(${byState.join('|')})/[^/?]+(\\?|$)`);
  const wrap =
    (transport: Transport): Transport =>
    (request) => {
      const { method, path, body = '{}' } = request;
      const changes = ['PATCH', 'PUT', 'DELETE'].includes(method) || /\/eviction(\?|$)/.test(path);
      const parsed = JSON.parse(body);
      const isLoose = method === 'DELETE' && ofState.test(path) && !isVersioned(parsed);
      if (changes && !EXEMPT.test(path) && (isLoose || !isBound(parsed))) unbound.add(`${method} ${path}`);
      return transport(request);
    };
  return { wrap, unbound };
}
