/** Percentages as `maxSurge` and `maxUnavailable` take them. */
export const INT_OR_PERCENT_PATTERN = /^[0-9]+%$/;

/** A count, or a percentage of another count such as `"25%"`. */
export type IntOrPercent = number | string;
