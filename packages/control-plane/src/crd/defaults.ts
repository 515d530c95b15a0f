import { isRecord } from '../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../apimachinery/objects/object.ts';
import { record, records, text, texts } from './schema/fields.ts';

/**
 * Sets the defaults of a CRD: `singular` and `listKind` from the kind, the conversion `None`, the stored versions, and
 * an empty status.
 */
export function defaultCrd(crd: ApiObject): void {
  // A CRD without a spec counts as a CRD with an empty spec.
  if (!isRecord(crd.spec)) crd.spec = {};
  const spec = record(crd.spec);
  const names = record(spec.names);
  const kind = text(names.kind);
  if (isRecord(spec.names)) {
    if (text(names.singular) === '') names.singular = kind.toLowerCase();
    if (text(names.listKind) === '' && kind !== '') names.listKind = `${kind}List`;
  }
  if (!isRecord(spec.conversion)) spec.conversion = { strategy: 'None' };
  const conversion = record(spec.conversion);
  if (text(conversion.strategy) === '') conversion.strategy = 'None';
  defaultServiceReference(conversion);
  if (spec.preserveUnknownFields === false) delete spec.preserveUnknownFields;
  for (const version of records(spec.versions)) defaultVersion(version);
  for (const condition of records(record(crd.status).conditions)) {
    for (const field of ['reason', 'message']) if (condition[field] === '') delete condition[field];
  }
}

/**
 * Removes an empty conversion webhook from a CRD. kube-apiserver stores only the two fields of a webhook, so it loses
 * an empty webhook.
 */
export function dropEmptyWebhook(crd: ApiObject): void {
  const conversion = record(record(crd.spec).conversion);
  const { clientConfig, conversionReviewVersions } = record(conversion.webhook);
  if (!isRecord(clientConfig) && texts(conversionReviewVersions).length === 0) delete conversion.webhook;
}

function defaultServiceReference(conversion: Record<string, unknown>): void {
  const service = record(record(record(conversion.webhook).clientConfig).service);
  if (Object.keys(service).length > 0 && service.port === undefined) service.port = 443;
}

function defaultVersion(version: Record<string, unknown>): void {
  if (version.served === undefined) version.served = false;
  if (version.storage === undefined) version.storage = false;
}
