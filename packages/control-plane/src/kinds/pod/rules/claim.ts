import type { Findings } from '../../../apimachinery/errors/findings.ts';
import { labelProblems, subdomainProblems } from '../../../apimachinery/errors/names.ts';
import { isRecord } from '../../../apimachinery/objects/json-value.ts';
import { look, type Plain, strings, text } from '../../../apimachinery/objects/plain.ts';
import { quantityNanos } from '../../../apimachinery/objects/quantity.ts';
import { selectorCauses } from '../../base/selector.ts';

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
export const VOLUME_MODES = ['Block', 'Filesystem'];

/** A claim with the access mode ReadWriteOncePod must have no other mode. */
export function accessModeFindings(findings: Findings, spec: Plain, at: string): void {
  const modes = strings(spec, 'accessModes');
  for (const mode of modes) findings.oneOf(`${at}.accessModes`, mode, ACCESS_MODES);
  const known = modes.filter((mode) => ACCESS_MODES.includes(mode));
  if (known.includes('ReadWriteOncePod') && known.some((mode) => mode !== 'ReadWriteOncePod')) {
    findings.forbidden(`${at}.accessModes`, 'may not use ReadWriteOncePod with other access modes');
  }
}

export interface ClaimLeniency {
  readonly anyGroup: boolean;
  readonly anyLabelValue: boolean;
}

const STRICT: ClaimLeniency = { anyGroup: false, anyLabelValue: false };

/** Returns the checks that an update skips, as `ValidationOptionsForPersistentVolumeClaim` in Kubernetes. */
export const claimLeniency = (old: Plain): ClaimLeniency => ({
  anyGroup: [old.dataSource, old.dataSourceRef].some((source) => isRecord(source) && source.apiGroup !== undefined),
  anyLabelValue: old.selector !== undefined && selectorCauses(old.selector, '').length > 0,
});

function sourceFindings(findings: Findings, source: unknown, at: string, anyGroup: boolean): void {
  if (!isRecord(source)) return;
  if (text(source, 'name') === '') findings.required(`${at}.name`);
  const kind = text(source, 'kind');
  if (kind === '') findings.required(`${at}.kind`);
  const group = text(source, 'apiGroup');
  if (group === '' && kind !== 'PersistentVolumeClaim') {
    findings.invalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  }
  if (group !== '' && !anyGroup) findings.problems(`${at}.apiGroup`, group, subdomainProblems(group));
  const namespace = text(source, 'namespace');
  if (namespace !== '') findings.problems(`${at}.namespace`, namespace, labelProblems(namespace));
}

/** Validates the spec of a claim, as `ValidatePersistentVolumeClaimSpec` in Kubernetes. */
export function claimSpecFindings(
  findings: Findings,
  spec: Plain,
  at: string,
  { anyGroup, anyLabelValue } = STRICT,
): void {
  if (strings(spec, 'accessModes').length === 0) {
    findings.required(`${at}.accessModes`, 'at least 1 access mode is required');
  }
  if (spec.selector !== undefined) findings.add(selectorCauses(spec.selector, `${at}.selector`, anyLabelValue));
  accessModeFindings(findings, spec, at);
  const storage = look(spec, 'resources', 'requests').storage;
  const field = `${at}.resources[storage]`;
  if (storage === undefined) findings.required(field);
  else if (quantityNanos(storage) <= 0n) findings.invalid(field, storage, 'must be greater than zero');
  const storageClass = text(spec, 'storageClassName');
  if (storageClass !== '') findings.problems(`${at}.storageClassName`, storageClass, subdomainProblems(storageClass));
  if (spec.volumeMode !== undefined) findings.oneOf(`${at}.volumeMode`, spec.volumeMode, VOLUME_MODES);
  sourceFindings(findings, spec.dataSource, `${at}.dataSource`, anyGroup);
  sourceFindings(findings, spec.dataSourceRef, `${at}.dataSourceRef`, anyGroup);
  const { dataSource, dataSourceRef } = spec;
  if (text(dataSourceRef, 'namespace') !== '') {
    if (isRecord(dataSource)) {
      findings.invalid(at, {}, 'may not be specified when dataSourceRef.namespace is specified');
    }
  } else if (isRecord(dataSource) && isRecord(dataSourceRef)) {
    const differs = ['apiGroup', 'kind', 'name'].some((field) => dataSource[field] !== dataSourceRef[field]);
    // As in kube-apiserver, the value in this error is an empty structure.
    if (differs) findings.invalid(at, {}, 'must match dataSourceRef');
  }
  const attributes = text(spec, 'volumeAttributesClassName');
  if (attributes !== '')
    findings.problems(`${at}.volumeAttributesClassName`, attributes, subdomainProblems(attributes));
}
