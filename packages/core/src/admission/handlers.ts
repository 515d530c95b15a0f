import {
  Annotations,
  defaultMachineDeployment,
  defaultMachineSet,
  type FieldError,
  type MachineDeployment,
  type MachineSet,
  validateMachine,
  validateMachineClass,
  validateMachineDeployment,
  validateMachineSet,
} from '@mcm/api';
import type { AdmissionCause, AdmissionRequest, AdmissionVerdict } from '@mcm/kube';
import { isRecord } from '@mcm/kube';
import { parseScaleIn, scaleInResults } from '../deployment/scaling/scale-in.ts';
import { matcherOf } from '../objects/selector.ts';
import { semanticEqual } from '../values/semantic-equal.ts';
import { newAnnotationWarnings } from './annotation-warnings.ts';

type Validator = (object: unknown) => FieldError[];

const VALIDATORS: Readonly<Record<string, Validator>> = {
  Machine: validateMachine,
  MachineSet: validateMachineSet,
  MachineDeployment: validateMachineDeployment,
  MachineClass: validateMachineClass,
};

const ALLOWED: AdmissionVerdict = { causes: [] };

const field = (value: unknown, name: string): unknown => (isRecord(value) ? value[name] : undefined);
const metadataOf = (value: unknown, name: string): unknown => field(field(value, 'metadata'), name);

function content(object: unknown): unknown {
  if (!isRecord(object)) return object;
  const { metadata: _metadata, status: _status, ...rest } = object;
  return rest;
}

function defaulted(kind: string, object: unknown): unknown {
  if (!isRecord(field(object, 'spec'))) return object;
  const strategy = field(field(object, 'spec'), 'strategy');
  const fillable = [strategy, field(strategy, 'rollingUpdate'), field(strategy, 'inPlaceUpdate')].every(
    (value) => value === undefined || isRecord(value),
  );
  if (kind === 'MachineDeployment' && fillable) return defaultMachineDeployment(object as MachineDeployment);
  if (kind === 'MachineSet') return defaultMachineSet(object as MachineSet);
  return object;
}

const unchanged = (kind: string, object: unknown, oldObject: unknown): boolean =>
  [oldObject, defaulted(kind, oldObject)].some((before) => semanticEqual(content(object), content(before)));

/**
 * A stored rollout strategy may contain a percentage that the webhook refuses, because the original accepts any
 * percentage. A stored invalid strategy must not prevent a user or the cluster-autoscaler from scaling.
 */
function keptStrategy(kind: string, object: unknown, oldObject: unknown): boolean {
  const strategyOf = (value: unknown): unknown => field(field(value, 'spec'), 'strategy');
  if (kind !== 'MachineDeployment' || !isRecord(oldObject) || strategyOf(oldObject) === undefined) return false;
  return [oldObject, defaulted(kind, oldObject)].some((before) =>
    semanticEqual(strategyOf(object), strategyOf(before)),
  );
}

/** Adds the default values of the CRDs. */
export function admitDefaults({ kind, object }: AdmissionRequest): AdmissionVerdict {
  const spec = field(object, 'spec');
  const wanted = field(defaulted(kind.kind, object), 'spec');
  return semanticEqual(spec, wanted)
    ? ALLOWED
    : { causes: [], patch: [{ op: 'replace', path: '/spec', value: wanted }] };
}

const asCause = ({ path, type, message }: FieldError): AdmissionCause => ({ field: path, reason: type, message });

function scaleInCauses(object: unknown, oldObject: unknown): AdmissionCause[] {
  const text = field(metadataOf(object, 'annotations'), Annotations.ScaleIn);
  const pending = field(metadataOf(oldObject, 'annotations'), Annotations.ScaleIn);
  if (typeof text !== 'string' || text === pending) return [];
  const refuse = (message: string): AdmissionCause[] => [
    { field: `metadata.annotations[${Annotations.ScaleIn}]`, reason: 'FieldValueInvalid', message },
  ];
  const parsed = parseScaleIn(text);
  if ('problem' in parsed) return refuse(parsed.problem.replace(/^metadata\.annotations\[[^\]]*\]: /, ''));
  if (!isRecord(oldObject)) return refuse('must not be set when you create a deployment; add the annotation later');
  if (typeof pending === 'string')
    return refuse('another scale-in is in progress; retry after the manager removes the annotation');
  const { requestID, from, to } = parsed.request;
  const result = scaleInResults(oldObject as MachineDeployment).find((r) => r.requestID === requestID);
  if (result) return refuse(`requestID ${requestID} was already processed: ${result.outcome}`);
  const before = field(field(oldObject, 'spec'), 'replicas') ?? 0;
  const after = field(field(object, 'spec'), 'replicas') ?? 0;
  if (before !== from)
    return refuse(`the field "from" is ${from}, but spec.replicas was ${before}; read the deployment again`);
  if (after !== to)
    return refuse(
      `the field "to" is ${to}, but spec.replicas is ${after}; set the annotation and spec.replicas in one write`,
    );
  return [];
}

/** Returns the MachineDeployments of a namespace. */
export type ListDeployments = (namespace: string) => Promise<readonly MachineDeployment[]>;

/**
 * Returns the other deployments that overlap this deployment. Two deployments overlap if the selector of one deployment
 * matches machines of the other deployment.
 */
export function overlapping(deployment: MachineDeployment, others: readonly MachineDeployment[]): string[] {
  const selects = (a: MachineDeployment, b: MachineDeployment): boolean =>
    matcherOf(a.spec.selector)(b.spec.template.metadata?.labels);
  return others
    .filter((other) => other.metadata.name !== deployment.metadata.name)
    .filter((other) => selects(deployment, other) || selects(other, deployment))
    .map((other) => other.metadata.name)
    .sort();
}

async function warnings(request: AdmissionRequest, list: ListDeployments | undefined): Promise<string[]> {
  const { kind, namespace, object, oldObject } = request;
  if (kind.kind !== 'MachineDeployment' || namespace === undefined || list === undefined) return [];
  const selector = field(field(object, 'spec'), 'selector');
  const same = isRecord(oldObject) && semanticEqual(selector, field(field(oldObject, 'spec'), 'selector'));
  if (same) return [];
  const names = overlapping(object as MachineDeployment, await list(namespace));
  return names.length === 0
    ? []
    : [`spec.selector: overlaps with MachineDeployment ${names.join(', ')}; give each deployment a unique label`];
}

/**
 * Creates the handler of the validating webhook.
 * - The validating webhook always allows deletions, changes of objects that are being deleted, and writes that change
 * nothing.
 */
export const admitValid =
  (list?: ListDeployments) =>
  async (request: AdmissionRequest): Promise<AdmissionVerdict> => {
    const { kind, operation, object, oldObject, subResource } = request;
    if (operation === 'DELETE' || subResource || metadataOf(object, 'deletionTimestamp') !== undefined) return ALLOWED;
    const scaleIn = kind.kind === 'MachineDeployment' ? scaleInCauses(object, oldObject) : [];
    if (scaleIn.length > 0) return { causes: scaleIn };
    const ignored = newAnnotationWarnings(kind.kind, object, oldObject);
    if (isRecord(oldObject) && unchanged(kind.kind, object, oldObject)) return { causes: [], warnings: ignored };
    const kept = keptStrategy(kind.kind, object, oldObject);
    const causes = (VALIDATORS[kind.kind]?.(object) ?? [])
      .filter(({ path }) => !kept || !path.startsWith('spec.strategy'))
      .map(asCause);
    return causes.length > 0 ? { causes } : { causes, warnings: [...ignored, ...(await warnings(request, list))] };
  };
