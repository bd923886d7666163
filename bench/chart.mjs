export const drawChart = () => ''
