import { Findings } from '../apimachinery/errors/findings.ts';
import { forbidden, invalid, notSupported, required } from '../apimachinery/errors/schema-causes.ts';
import { webhookServiceFindings, webhookUrlFindings } from '../apimachinery/errors/webhook-client.ts';
import { isRecord } from '../apimachinery/objects/json-value.ts';
import type { StatusCause } from '../apimachinery/objects/status.ts';
import { type Fields, record, text, texts } from './schema/fields.ts';
import { labelProblems } from './schema/words.ts';

const KNOWN_REVIEWS = ['v1', 'v1beta1'];

/**
 * Validates the field `spec.conversion` of a CRD. kube-apiserver validates its internal type, so errors contain the
 * path `webhookClientConfig` instead of `webhook.clientConfig`.
 */
export function validateConversion(conversion: Fields, path: string): StatusCause[] {
  const strategy = text(conversion.strategy);
  const webhook = record(conversion.webhook);
  const config = webhook.clientConfig ?? undefined;
  const reviews = texts(webhook.conversionReviewVersions);
  const strategies = ['None', 'Webhook'];
  const causes = strategies.includes(strategy) ? [] : [notSupported(`${path}.strategy`, strategy, strategies)];
  if (strategy !== 'Webhook') {
    const only = 'should not be set when strategy is not set to Webhook';
    if (isRecord(config)) causes.push(forbidden(`${path}.webhookClientConfig`, only));
    if (reviews.length > 0) causes.push(forbidden(`${path}.conversionReviewVersions`, only));
    return causes;
  }
  return [
    ...validateClientConfig(config, `${path}.webhookClientConfig`),
    ...validateReviews(reviews, `${path}.conversionReviewVersions`),
  ];
}

function validateReviews(reviews: readonly string[], path: string): StatusCause[] {
  if (reviews.length === 0) return [required(path)];
  const causes = reviews.flatMap((version, at) => {
    if (reviews.indexOf(version) < at) return [invalid(`${path}[${at}]`, version, 'duplicate version')];
    return labelProblems(version).map((problem) => invalid(`${path}[${at}]`, version, problem));
  });
  if (!reviews.some((version) => KNOWN_REVIEWS.includes(version))) {
    causes.push(invalid(path, reviews, `must include at least one of ${KNOWN_REVIEWS.join(', ')}`));
  }
  return causes;
}

function validateClientConfig(config: unknown, path: string): StatusCause[] {
  if (!isRecord(config)) return [required(path, 'required when strategy is set to Webhook')];
  const { url, service } = config;
  const findings = new Findings();
  if ((url === undefined) === (service === undefined)) {
    findings.required(path, 'exactly one of url or service is required');
  } else if (url !== undefined) webhookUrlFindings(findings, text(url), `${path}.url`);
  else webhookServiceFindings(findings, record(service), `${path}.service`);
  return findings.causes;
}
