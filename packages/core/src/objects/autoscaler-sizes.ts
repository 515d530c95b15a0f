import { Annotations, type MachineDeployment } from '@mcm/api';
import { parseInteger } from '../values/integers.ts';

export interface AutoscalerSizes {
  readonly minSize: number;
  readonly maxSize: number;
}

/** Returns the minimum and maximum size, or a sentence with the problem of the annotations. */
export function autoscalerSizesOf({
  metadata: { annotations = {} },
}: {
  readonly metadata: Pick<MachineDeployment['metadata'], 'annotations'>;
}): AutoscalerSizes | { readonly problem: string } | undefined {
  const { [Annotations.AutoscalerMinSize]: min, [Annotations.AutoscalerMaxSize]: max } = annotations;
  if (min === undefined && max === undefined) return undefined;
  const [minSize, maxSize] = [sizeIn(min), sizeIn(max)];
  if (minSize === undefined) return { problem: problemOf(Annotations.AutoscalerMinSize, min) };
  if (maxSize === undefined) return { problem: problemOf(Annotations.AutoscalerMaxSize, max) };
  if (maxSize >= minSize) return { minSize, maxSize };
  return {
    problem: `metadata.annotations[${Annotations.AutoscalerMaxSize}]: "${max}" is less than the minimum ${minSize}, so autoscalers cannot scale the deployment over gRPC`,
  };
}

function sizeIn(text: string | undefined): number | undefined {
  const size = parseInteger(text);
  return size === undefined || size < 0 ? undefined : size;
}

function problemOf(key: string, text: string | undefined): string {
  if (text === undefined)
    return `metadata.annotations[${key}] is missing, so autoscalers cannot scale the deployment over gRPC; set both annotations`;
  return `metadata.annotations[${key}]: "${text}" is ignored, so autoscalers cannot scale the deployment over gRPC; write an integer such as "1"`;
}
