import {
  badRequest,
  methodNotAllowed,
  notFound,
  notOfSubresource,
  notSupported,
  unknownResource,
} from '../apimachinery/errors/errors.ts';
import type { ServerRequest, ServerResponse } from '../apimachinery/http/exchange.ts';
import {
  bodyType,
  type Format,
  negotiate,
  noStream,
  PROTOBUF,
  reachesHandler,
} from '../apimachinery/http/negotiate.ts';
import { stringifyJson } from '../apimachinery/objects/json.ts';
import { isRecord } from '../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { defined } from '../apimachinery/objects/plain.ts';
import { decodeObject } from '../registry/bodies/decode.ts';
import { awaitVersion, checkSelectors, listRecords, parseResourceVersion } from '../registry/reads/list.ts';
import { openWatch } from '../registry/reads/watch.ts';
import { findSubresource } from '../registry/subresources/find.ts';
import { createObject, dropSystemFields, matchNamespace, receive, track } from '../registry/writes/create.ts';
import { deleteObject } from '../registry/writes/delete.ts';
import { deleteListed } from '../registry/writes/delete-listed.ts';
import { patchObject } from '../registry/writes/patch.ts';
import { checkName, updateObject } from '../registry/writes/update.ts';
import type { ServedKind } from '../resources/kind-registry.ts';
import {
  checkListOptions,
  parseListOptions,
  parseWriteOptions,
  type WriteOptions,
  type WriteOptionsKind,
} from '../resources/options.ts';
import type { Call, Registry, Target, Written } from '../resources/registry.ts';
import { answerReview } from '../resources/review.ts';
import { StorageFullError } from '../store/store.ts';
import { answerJson, answerText, pageNotFound } from './answer.ts';
import { deleteOptionsOf, formOf, patchTypeFor, readPlain } from './request-body.ts';
import type { RequestInfo } from './request-info.ts';
import { verbOf } from './verb.ts';
import { checkView, scaleView, type ViewOptions, viewList, viewObject, watchFormat } from './view.ts';

const watchType = ({ mediaType }: Format): string => (mediaType === PROTOBUF ? `${PROTOBUF};stream=watch` : mediaType);

/** The kinds whose delete response contains the object, even if the object was deleted immediately. */
const RETURNS_DELETED = new Set([
  '/pods',
  '/namespaces',
  '/persistentvolumes',
  '/persistentvolumeclaims',
  '/podtemplates',
  '/resourcequotas',
  '/serviceaccounts',
  '/services',
  'resource.k8s.io/deviceclasses',
  'resource.k8s.io/resourceclaims',
  'resource.k8s.io/resourceclaimtemplates',
  'resource.k8s.io/resourceslices',
  'storage.k8s.io/storageclasses',
  'storage.k8s.io/csidrivers',
  'storage.k8s.io/csinodes',
  'storage.k8s.io/volumeattachments',
  'storage.k8s.io/volumeattributesclasses',
]);

interface Context {
  readonly request: ServerRequest;
  readonly info: RequestInfo;
  readonly served: ServedKind;
  readonly target: Target;
  readonly call: Call;
}

const NO_STATUS_TABLES: ReadonlySet<string> = new Set([
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'resource.k8s.io',
]);
const CONNECTIONS: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);
/**
 * The forms that the Accept header can request. For a write, the server checks the requested form only after the
 * operation.
 */
const FORMS: readonly NonNullable<Format['as']>[] = ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'];

/**
 * Parses the options of a write. When a client creates an object, the server checks the media type of the body before
 * the options.
 */
function optionsOf({ request, call }: Context, kind: WriteOptionsKind, applying = false): WriteOptions {
  if (kind === 'CreateOptions') formOf(request);
  return parseWriteOptions(kind, request.query, call.userAgent, applying);
}

/** Returns the error for an unsupported method. */
const notOffered = ({ request, info, served: { kind } }: Context): Error =>
  kind.custom && verbOf(request, info) === '' ? notSupported(kind, '') : methodNotAllowed();

export class ResourceHandler {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /**
   * Handles a request for a resource.
   * @throws StatusError if the request is refused
   */
  async handle(request: ServerRequest, info: RequestInfo, call: Call): Promise<ServerResponse> {
    try {
      return await this.#handle(request, info, call);
    } catch (error) {
      // The error may depend on an earlier write that is not durable yet, for example if that write created an object
      // with the same name.
      await this.#registry.store.settled();
      throw error;
    }
  }

  async #handle(request: ServerRequest, info: RequestInfo, call: Call): Promise<ServerResponse> {
    const { kinds } = this.#registry;
    const served = kinds.find(info.group, info.version, info.resource);
    const misplaced = served !== undefined && info.hasNamespace && !served.kind.namespaced;
    // The path after `proxy` is the path at the target of the proxy. For custom kinds, the server ignores the path
    // after a subresource.
    const isTooDeep = info.rest.length > 1 && info.subresource !== 'proxy' && served?.kind.custom !== true;
    if (served === undefined || misplaced || isTooDeep) {
      return this.#unknown(info);
    }
    const { kind } = served;
    const target: Target = {
      served,
      namespace: kind.namespaced ? info.namespace : '',
      name: info.name,
      subresource: info.subresource,
    };
    // For built-in kinds, the router refuses unknown subresources and formats, and the response contains no warning.
    // Requests for custom kinds bypass the router.
    const routed = kind.custom || (info.subresource === '' && reachesHandler(request));
    if (kind.deprecationWarning !== undefined && routed) call.warn(kind.deprecationWarning);
    const context: Context = { request, info, served, target, call };
    if (kind.namespaced && !info.hasNamespace) {
      if (info.name !== '') return this.#unknown(info);
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        if (kind.custom) return pageNotFound();
        throw methodNotAllowed();
      }
    }
    if (info.subresource !== '') return this.#subresource(context);
    return info.name === '' ? this.#collection(context) : this.#item(context);
  }

  #unknown(info: RequestInfo): ServerResponse {
    if (this.#registry.kinds.isBuiltin(info.group)) throw unknownResource();
    return pageNotFound();
  }

  async #collection(context: Context): Promise<ServerResponse> {
    const { request, served } = context;
    const { kind } = served;
    const offers = (verb: string): boolean => kind.verbs?.includes(verb) ?? true;
    switch (request.method) {
      case 'GET':
        if (offers('list')) return this.#listOrWatch(context);
        break;
      case 'HEAD':
        if (kind.custom) return this.#listOrWatch(context);
        break;
      case 'POST':
        if (offers('create')) return this.#create(context);
        break;
      case 'DELETE':
        if (offers('deletecollection')) return this.#deleteCollection(context);
        break;
      case 'PUT':
      case 'PATCH':
        if (!kind.custom) break;
        // The server checks the type of a patch before the name of the object.
        if (request.method === 'PATCH') patchTypeFor(request, served);
        throw badRequest('name must be provided');
      default:
    }
    throw notOffered(context);
  }

  async #item(context: Context): Promise<ServerResponse> {
    const { request, served } = context;
    const { kind } = served;
    const offers = (verb: string): boolean => kind.verbs?.includes(verb) ?? true;
    switch (request.method) {
      case 'GET':
        // A request with a name and `watch=1` returns the object once. Only the deprecated prefix `/watch/` can watch a
        // single object.
        if (context.info.watchPrefix) return this.#listOrWatch(context);
        if (offers('get')) return this.#get(context);
        break;
      case 'HEAD':
        if (kind.custom) return this.#get(context);
        break;
      case 'PUT':
        if (offers('update')) return this.#update(context);
        break;
      case 'PATCH':
        if (offers('patch')) return this.#patch(context);
        break;
      case 'DELETE':
        if (offers('delete')) return this.#delete(context);
        break;
      case 'POST':
        if (kind.custom) return this.#create(context);
        break;
      default:
    }
    throw notOffered(context);
  }

  async #subresource(context: Context): Promise<ServerResponse> {
    const { request, served, target, call, info } = context;
    const { kind } = served;
    // For custom kinds, the server ignores the path after a subresource.
    const isWhole = kind.custom === true || info.rest.length === 0;
    if (info.subresource === 'status' && kind.subresources?.status === true && isWhole) {
      switch (request.method) {
        case 'GET':
          return this.#get(context);
        case 'PUT':
          return this.#update(context);
        case 'PATCH':
          return this.#patch(context);
        case 'DELETE':
        case 'POST':
          throw notOfSubresource(kind, request.method);
        default:
          throw notOffered(context);
      }
    }
    const subresource = findSubresource(served, info.subresource);
    if (subresource === undefined) {
      if (kind.custom) throw notFound(kind, target.name);
      throw unknownResource();
    }
    // Of all subresources, only the Scale can be a Table. Connections support none of the forms in `FORMS`.
    const forms = CONNECTIONS.has(info.subresource) ? [] : FORMS;
    const isScale = info.subresource === 'scale';
    const format = this.#negotiate(context, isScale ? forms : forms.filter((form) => form !== 'Table'), false);
    const answer = await subresource({
      registry: this.#registry,
      target,
      call,
      method: request.method,
      query: request.query,
      rest: info.rest,
      contentType: bodyType(request),
      body: () => request.body(),
      readBody: (kindName) => readPlain(request, this.#registry.kinds, served, kindName),
      options: (kindOfOptions, applying) => optionsOf(context, kindOfOptions, applying),
    });
    await this.#registry.store.settled();
    if (answer.status === 204) return { status: 204, headers: {}, body: '' };
    const text = answer.text ?? stringifyJson(answer.body);
    const isStatus = isRecord(answer.body) && answer.body['kind'] === 'Status';
    if (format.as === undefined || isStatus) return answerText(text, format, request, answer.status);
    const view = this.#view(context, format);
    return answerText(viewObject(text, isScale ? scaleView(view) : view), format, request, answer.status);
  }

  #negotiate({ request, served, info }: Context, as: readonly NonNullable<Format['as']>[], streams: boolean): Format {
    const { custom, group } = served.kind;
    const forms =
      info.subresource === 'status' && NO_STATUS_TABLES.has(group) ? as.filter((form) => form !== 'Table') : as;
    return negotiate(request, { by: custom ? 'handler' : 'router', as: forms, streams, protobuf: !custom });
  }

  #view(context: Context, format: Format): ViewOptions {
    const registry = this.#registry;
    return {
      served: context.served,
      format,
      query: context.request.query,
      get now() {
        return registry.now();
      },
    };
  }

  /**
   * Reads data and waits until the data is durable. If the disk is full, the store undoes the writes that are not
   * durable yet. The method then reads the data again.
   */
  async #durable<T>(read: () => T | Promise<T>): Promise<T> {
    for (;;) {
      const seen = await read();
      try {
        await this.#registry.store.settled();
        return seen;
      } catch (error) {
        if (!(error instanceof StorageFullError)) throw error;
      }
    }
  }

  async #get(context: Context): Promise<ServerResponse> {
    const { request, served, target } = context;
    const format = this.#negotiate(context, FORMS, false);
    const asked = request.query.get('resourceVersion') ?? '';
    const failure = served.kind.kind === 'Event' && !served.kind.custom ? 400 : 500;
    await awaitVersion(this.#registry, parseResourceVersion(asked, failure), asked);
    const record = await this.#durable(() => this.#registry.store.get(served.resource, target.namespace, target.name));
    if (record === undefined) throw notFound(served.kind, target.name);
    const text = served.textOf(record, target.subresource);
    return answerText(viewObject(text, this.#view(context, format), record), format, request);
  }

  get #sharding(): { readonly sharded: boolean } {
    return { sharded: this.#registry.features.shardedListAndWatch === true };
  }

  async #listOrWatch(context: Context): Promise<ServerResponse> {
    const { request, info, target } = context;
    const format = this.#negotiate(context, FORMS, true);
    const parsed = parseListOptions(request.query, this.#sharding);
    const options = info.watchPrefix ? { ...parsed, watch: true } : parsed;
    checkSelectors(options);
    checkListOptions(options);
    await this.#durable(() => undefined);
    const view = this.#view(context, format);
    if (options.watch) {
      const watch = await openWatch(this.#registry, target, options, watchFormat(view));
      // When the stream has started, the server can no longer send an error response.
      checkView(view);
      if (format.mediaType === 'application/yaml') throw noStream();
      return {
        status: 200,
        headers: { 'content-type': watchType(format) },
        body: (sink) => watch.run(sink),
      };
    }
    const result = await this.#durable(() => listRecords(this.#registry, target, options));
    return answerText(viewList(result, view), format, request);
  }

  async #readObject(context: Context, options: WriteOptions): Promise<ApiObject> {
    const { request, served, call } = context;
    const sent = await readPlain(request, this.#registry.kinds, served);
    return decodeObject(sent, served, this.#registry.kinds, options, call.warn);
  }

  async #written(context: Context, format: Format, written: Written): Promise<ServerResponse> {
    await this.#registry.store.settled();
    const text = viewObject(written.text, this.#view(context, format));
    return answerText(text, format, context.request, written.created ? 201 : 200);
  }

  async #create(context: Context): Promise<ServerResponse> {
    const { request, served, target, call } = context;
    const review = this.#registry.reviews.get(served.resource);
    // Reviews have no columns, so they cannot be a Table.
    const forms = review === undefined ? FORMS : FORMS.filter((form) => form !== 'Table');
    const format = this.#negotiate(context, forms, false);
    const options = optionsOf(context, 'CreateOptions');
    const object = await this.#readObject(context, options);
    if (review !== undefined) {
      receive(object, target, call);
      dropSystemFields(object);
      track(this.#registry, served, undefined, object, options, '');
      const answer = await answerReview(this.#registry, review, { object, call, target, options });
      await this.#registry.store.settled();
      if (format.as === undefined) return answerJson(answer, format, request, 201);
      return answerText(viewObject(stringifyJson(answer), this.#view(context, format)), format, request, 201);
    }
    return this.#written(context, format, await createObject(this.#registry, call, target, object, options));
  }

  async #update(context: Context): Promise<ServerResponse> {
    const { request, served, target, call } = context;
    const format = this.#negotiate(context, FORMS, false);
    const options = parseWriteOptions('UpdateOptions', request.query, call.userAgent);
    const { kinds } = this.#registry;
    const decode = async (warn: Call['warn']) =>
      decodeObject(await readPlain(request, kinds, served), served, kinds, options, warn);
    let first: ApiObject | undefined = await decode(call.warn);
    matchNamespace(first, target);
    checkName(first, target);
    const next = async (): Promise<ApiObject> => {
      const object = first ?? (await decode(() => undefined));
      // An attempt may change the parsed object, so the next attempt parses the body again.
      first = undefined;
      return object;
    };
    // A server-side apply of the status can create a Service.
    const creates =
      served.kind.createOnUpdate === true && (target.subresource === '' || served.resource === '/services');
    const transformation = creates ? { next, create: next } : { next };
    const written = await updateObject(this.#registry, call, target, transformation, options);
    return this.#written(context, format, written);
  }

  async #patch(context: Context): Promise<ServerResponse> {
    const { request, served, target, call } = context;
    const format = this.#negotiate(context, FORMS, false);
    const type = patchTypeFor(request, served);
    const options = parseWriteOptions(
      'PatchOptions',
      request.query,
      call.userAgent,
      type === 'application/apply-patch+yaml',
    );
    const bytes = await request.body();
    return this.#written(context, format, await patchObject(this.#registry, call, target, type, bytes, options));
  }

  async #delete(context: Context): Promise<ServerResponse> {
    const { request, served, target, call } = context;
    const format = this.#negotiate(context, FORMS, false);
    const options = await deleteOptionsOf(request);
    const deleted = await deleteObject(this.#registry, call, target, options);
    await this.#registry.store.settled();
    if (deleted.gone && !RETURNS_DELETED.has(served.resource)) {
      const { group, plural } = served.kind;
      const { name = '', uid = '' } = deleted.object.metadata;
      const details = defined({ name, group: group || undefined, kind: plural, uid });
      return answerJson(
        { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details },
        format,
        request,
      );
    }
    // With the deprecated option for foreground deletion, the response shows the object, which still exists.
    const waits = !deleted.gone && String(options.given?.orphanDependents) === 'false';
    return answerText(viewObject(deleted.text, this.#view(context, format)), format, request, waits ? 202 : 200);
  }

  async #deleteCollection(context: Context): Promise<ServerResponse> {
    const { request, target, call } = context;
    const format = this.#negotiate(context, FORMS, false);
    const listOptions = { ...parseListOptions(request.query, this.#sharding), watch: false };
    checkSelectors(listOptions);
    checkListOptions(listOptions);
    const options = await deleteOptionsOf(request);
    const listed = await deleteListed(this.#registry, call, target, listOptions, options);
    await this.#registry.store.settled();
    return answerText(viewList(listed, this.#view(context, format)), format, request);
  }
}
