import type { Findings } from '../../../apimachinery/errors/findings.ts';
import { labelProblems } from '../../../apimachinery/errors/names.ts';
import { isRecord } from '../../../apimachinery/objects/json-value.ts';
import { items, type Plain, text } from '../../../apimachinery/objects/plain.ts';
import { backstepProblems, environmentNameProblems } from '../../base/formats.ts';

/** Validates a reference to a key in a file, as `validateFileKeySelector` in Kubernetes. */
export function fileRefFindings(findings: Findings, ref: unknown, at: string): void {
  if (!isRecord(ref)) return;
  const rules = [
    ['key', environmentNameProblems],
    ['volumeName', labelProblems],
    ['path', backstepProblems],
  ] as const;
  for (const [field, problems] of rules) {
    const value = text(ref, field);
    if (value === '') findings.required(`${at}.${field}`);
    else findings.problems(`${at}.${field}`, value, problems(value));
  }
}

/** Validates that environment variables from files use an emptyDir of the pod (`validateFileKeyRefVolumes`). */
export function fileVolumeFindings(findings: Findings, spec: Plain, path: string): void {
  const volumes = new Map(items(spec, 'volumes').map((volume) => [text(volume, 'name'), volume]));
  for (const list of ['initContainers', 'containers', 'ephemeralContainers']) {
    for (const [index, container] of items(spec, list).entries()) {
      for (const [position, variable] of items(container, 'env').entries()) {
        const ref = isRecord(variable.valueFrom) ? variable.valueFrom.fileKeyRef : undefined;
        if (!isRecord(ref)) continue;
        const at = `${path}.${list}[${index}].env[${position}].valueFrom.fileKeyRef.volumeName`;
        const name = text(ref, 'volumeName');
        const volume = volumes.get(name);
        if (volume === undefined) findings.notFound(at, name);
        else if (volume.emptyDir === undefined) {
          findings.invalid(at, name, 'referenced volume must be of type emptyDir');
        }
      }
    }
  }
}
